import { isJsonObject, runInTurns, type SlicedWork } from '#pkg/apimachinery/index';
import type { ManagedFieldsEntry } from '#pkg/managedfields/index';
import type { ObjectWrite } from './object-write.ts';

/**
 * Sets managedFields: who set which field. A request that applies a configuration has computed them before; a deletion
 * changes none, even if it only marks the object.
 */
export function trackFields(write: ObjectWrite): void | Promise<void> {
  const { request } = write;
  if (request.verb !== 'delete' && request.isApplied !== true) return track(write);
}

async function track(write: ObjectWrite): Promise<void> {
  const { object, context } = write;
  const entries = await runInTurns(entriesAfter(write), { signal: context.signal });
  if (entries.length > 0) object.metadata.managedFields = entries;
  else delete object.metadata.managedFields;
}

function* entriesAfter({ request, model, object, old, body, context }: ObjectWrite): SlicedWork<ManagedFieldsEntry[]> {
  const manager = context.fieldManager;
  if (request.verb !== 'update')
    return yield* model.fields.updating(undefined, object, { manager, subresource: '', requested: requestedIn(body) });
  const { scale: paths, subresource } = request;
  return paths === undefined
    ? yield* model.fields.updating(old, object, { manager, subresource, requested: requestedIn(body) })
    : model.fields.updateScale(old!, object, { paths, manager });
}

function requestedIn({ metadata }: ObjectWrite['body']): ObjectWrite['body'][string] | undefined {
  return isJsonObject(metadata) ? metadata['managedFields'] : undefined;
}
