import { isJsonObject, runInTurns, type SlicedWork } from '#pkg/apimachinery/index';
import type { ManagedFieldsEntry } from '#pkg/managedfields/index';
import type { ObjectWrite } from './object-write.ts';

/**
 * Sets managedFields: who set which field. A request that applies a configuration has computed them before; a deletion
 * changes none, even if it only marks the object.
 */
export function trackFields(write: ObjectWrite): void | Promise<void> {
  const { request, conversions, context } = write;
  if (request.verb === 'delete' || request.isApplied === true) return;
  const track = (): Promise<ManagedFieldsEntry[]> => runInTurns(entriesAfter(write), { signal: context.signal });
  return (conversions === undefined ? track() : conversions.run(track, context.signal)).then((entries) =>
    setEntries(write, entries),
  );
}

function setEntries({ object }: ObjectWrite, entries: ManagedFieldsEntry[]): void {
  if (entries.length > 0) object.metadata.managedFields = entries;
  else delete object.metadata.managedFields;
}

function* entriesAfter({
  request,
  model,
  object,
  old,
  body,
  context,
  conversions,
}: ObjectWrite): SlicedWork<ManagedFieldsEntry[]> {
  const manager = context.fieldManager;
  const convert = conversions?.convert;
  if (request.verb !== 'update')
    return yield* model.fields.updating(undefined, object, {
      manager,
      subresource: '',
      requested: requestedIn(body),
      convert,
    });
  const { scale: paths, subresource } = request;
  return paths === undefined
    ? yield* model.fields.updating(old, object, { manager, subresource, requested: requestedIn(body), convert })
    : yield* model.fields.updatingScale(old!, object, { paths, manager });
}

function requestedIn({ metadata }: ObjectWrite['body']): ObjectWrite['body'][string] | undefined {
  return isJsonObject(metadata) ? metadata['managedFields'] : undefined;
}
