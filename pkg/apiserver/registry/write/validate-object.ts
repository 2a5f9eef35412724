import { EventLoopTurns, newInvalid, runInTurns, validateObjectMeta, type StatusCause } from '#pkg/apimachinery/index';
import { isPersonalToken } from '#pkg/identity/index';
import { groupKind, type ModelContext } from '../model/model-context.ts';
import type { WriteContext } from '../../rest/served-resource.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';

/**
 * StatusError 422 with one cause a field, of metadata, schema and strategy together. With `old`, what was wrong before
 * and is unchanged passes.
 */
export async function validateObject(
  context: ModelContext,
  object: JsonApiObject,
  write: WriteContext,
  old?: JsonApiObject,
): Promise<void> {
  const { model, codec, strategy } = context;
  const meta = validateObjectMeta(object.metadata, {
    nameRule: model.nameRule,
    namespaced: model.scope === 'Namespaced',
    isCredential: isPersonalToken,
  });
  const turns = new EventLoopTurns({ signal: write.signal });
  const schemaCauses = await runInTurns(codec.validator.validating(object, old), { signal: write.signal });
  if (turns.due) await turns.next();
  // A strategy reads fields whose types the schema has to have checked.
  const strategyCauses = schemaCauses.length > 0 ? [] : ((await strategy.validate?.(object, old, write)) ?? []);
  refuse(context, object, [...meta.causes, ...schemaCauses, ...strategyCauses]);
  for (const warning of meta.warnings) write.warn(warning);
}

/** The same for a write of `/status`, which an invalid spec does not prevent. */
export async function validateStatus(
  context: ModelContext,
  object: JsonApiObject,
  { signal }: WriteContext,
  old: JsonApiObject,
): Promise<void> {
  refuse(context, object, await runInTurns(context.codec.validator.validatingStatus(object, old), { signal }));
}

export function refuse(context: ModelContext, object: JsonApiObject, causes: readonly StatusCause[]): void {
  if (causes.length > 0) throw newInvalid(groupKind(context), object.metadata.name ?? '', causes);
}
