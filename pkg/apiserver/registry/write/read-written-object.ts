import {
  checkMetadataShape,
  EventLoopTurns,
  isJsonObject,
  maxJsonValues,
  metadataCountCauses,
  newBadRequest,
  newInvalid,
  newRequestEntityTooLarge,
  type JsonObject,
  type JsonValue,
} from '#pkg/apimachinery/index';
import { DefaultBudget } from '../../schema/default-budget.ts';
import { cloneJson, countValues } from '../../schema/json-value.ts';
import { groupKind, type ModelContext } from '../model/model-context.ts';
import type { WriteContext } from '../../rest/served-resource.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';

/**
 * A client's object as this version knows it: a copy, with metadata of the right types, without unknown fields, with
 * defaults. Unknown and duplicate fields are a 400 under `fieldValidation=Strict` and warnings under `Warn`; wrong
 * types in metadata are a 400 always.
 * @throws StatusError 413 for more than 100 000 values and keys, unless `old` had as many, and for defaults past their
 * budget; 422 for too many labels, annotations, finalizers or owner references.
 */
export async function readWrittenObject(
  context: ModelContext,
  body: JsonObject,
  write: WriteContext,
  old?: JsonObject,
): Promise<JsonApiObject> {
  const { codec, version } = context;
  const { apiVersion, kind } = codec;
  const turns = new EventLoopTurns({ signal: write.signal });
  refuseCounts(context, body);
  const room = maxJsonValues - countValues(body, maxJsonValues);
  if (room < 0 && !isNoLarger(body, old))
    throw newRequestEntityTooLarge(`the object would hold more than ${maxJsonValues} values and keys`);
  // Top-level order is that of the stored text.
  const typed: JsonObject = { apiVersion, kind, metadata: cloneJson(body['metadata'] ?? {}) };
  for (const key of Object.keys(body))
    if (!Object.hasOwn(typed, key) && key !== '__proto__') typed[key] = cloneJson(body[key]!);
  if (turns.due) await turns.next();
  const unknown = [...checkMetadataShape(typed), ...codec.validator.prune(typed)].map(
    (path) => `unknown field "${path}"`,
  );
  const findings = [...write.findings, ...unknown];
  if (turns.due) await turns.next();
  if (findings.length > 0 && write.fieldValidation === 'Strict') {
    throw newBadRequest(
      `${kind} in version "${version.name}" cannot be handled as a ${kind}: strict decoding error: ${findings.join(', ')}`,
    );
  }
  if (write.fieldValidation === 'Warn') for (const text of findings) write.warn(text);
  codec.validator.applyDefaults(typed, new DefaultBudget({ values: Math.max(room, 0) }));
  return typed as JsonApiObject;
}

/**
 * What the body says of itself must be what the URL says. Where it says nothing, that is right too. StatusError 400.
 */
export function checkIdentity(
  { codec }: ModelContext,
  body: JsonObject,
  key: { namespace: string; name?: string },
): void {
  const { apiVersion, kind, metadata } = body;
  mustBe(codec.apiVersion, apiVersion, 'the API version in the data', 'the expected API version');
  mustBe(codec.kind, kind, 'the kind in the data', 'the expected kind');
  // Metadata that is no object is refused with the other shapes.
  if (!isJsonObject(metadata)) return;
  if (key.name !== undefined) mustBe(key.name, metadata['name'], 'the name of the object', 'the name on the URL');
  mustBe(key.namespace, metadata['namespace'], 'the namespace of the object', 'the namespace on the URL');
}

function mustBe(expected: string, found: JsonValue | undefined, subject: string, standard: string): void {
  if (found === undefined || found === null || found === '' || found === expected) return;
  const shown = typeof found === 'string' ? found.slice(0, 253) : typeof found;
  throw newBadRequest(`${subject} (${shown}) does not match ${standard} (${expected})`);
}

/** What was stored before there was a limit may be changed, to let go of finalizers for one; it may not grow. */
function isNoLarger(body: JsonObject, old: JsonObject | undefined): boolean {
  const most = old === undefined ? 0 : countValues(old);
  return countValues(body, most) <= most;
}

/** Before anything is copied: too many labels would be looked at one by one only to be refused. */
function refuseCounts(context: ModelContext, { metadata }: JsonObject): void {
  const causes = metadataCountCauses(metadata);
  if (causes.length === 0) return;
  const name = isJsonObject(metadata) ? metadata['name'] : undefined;
  throw newInvalid(groupKind(context), typeof name === 'string' ? name.slice(0, 253) : '', causes);
}
