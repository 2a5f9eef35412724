import {
  type ApiObject,
  equalJson,
  formatGroupResource,
  groupResource,
  type JsonObject,
  newUnknownPath,
  StatusError,
} from '#pkg/apimachinery/index';
import { definitionModel, isDefinition, isEstablished, modelFromDefinition } from '#pkg/apis/index';
import { isStorageError, type StoredObject } from '#pkg/storage/index';
import { FieldTracker } from '../model/field-tracker.ts';
import type { ModelContext } from '../model/model-context.ts';
import { VersionCodec } from '../model/version-codec.ts';
import { checkCreateAllowed } from './admit-object.ts';
import { StartAgain, type ObjectWrite } from './object-write.ts';
import { markForDeletion } from './prepare-deletion.ts';

/** Names tried for one generateName. */
const maxNames = 8;

/**
 * Stores the object. An update without changes only records the outcome for the request's idempotency key.
 * @throws StartAgain for an update that changes nothing of a state that may be outdated
 */
export async function storeObject(write: ObjectWrite): Promise<void> {
  if (write.isUnchanged && write.mayBeOutdated) throw new StartAgain();
  if (write.isUnchanged) await rememberUnchanged(write);
  else write.stored = await storeChange(write);
}

/** Records the outcome, so that a later repetition of the request changes nothing. */
async function rememberUnchanged(write: ObjectWrite): Promise<void> {
  const { idempotency } = write.context;
  write.stored = write.from!;
  if (idempotency !== undefined) await write.model.store.rememberUnchanged(idempotency, write.stored);
}

async function storeChange(write: ObjectWrite): Promise<StoredObject> {
  const { verb } = write.request;
  if (verb !== 'delete') await checkDefinition(write);
  try {
    return await commit(write);
  } catch (error) {
    if (verb === 'create') await recoverCreate(write, error);
    if (!isHeldByContent(write, error)) throw error;
  }
  markForDeletion(write);
  return commit(write);
}

/** Is it the deletion of a namespace that has objects? They go first. */
function isHeldByContent({ request, model }: ObjectWrite, error: unknown): boolean {
  return (
    request.verb === 'delete' &&
    model.strategy.contentFinalizer !== undefined &&
    isStorageError(error, 'NamespaceNotEmpty')
  );
}

function commit(write: ObjectWrite): Promise<StoredObject> {
  const { strategy } = write.model;
  return strategy.commit === undefined ? writeToStore(write) : strategy.commit(write, () => writeToStore(write));
}

async function writeToStore(write: ObjectWrite): Promise<StoredObject> {
  const { request, model, type, object, from, context } = write;
  const { store, resource, codec, converter } = model;
  // A deletion needs no webhook: it keeps the form in which the object is stored.
  const fingerprint = request.verb === 'delete' && converter !== undefined ? from!.fingerprint : codec.fingerprint;
  const { requestAudit, dryRun } = context;
  write.mayBeOutdated = false;
  const audit = dryRun ? undefined : requestAudit?.rowOf({ code: type === 'create' ? 201 : 200, object });
  const stored = await store.write(
    type === 'create' ? { type, resource, object, fingerprint } : { type, resource, object, fingerprint, from: from! },
    audit === undefined ? context : context.withAudit(audit),
  );
  if (audit !== undefined) requestAudit?.markStored({ row: audit, revision: stored.revision });
  return stored;
}

/** Starts again with another name if the generated one is taken. */
async function recoverCreate(write: ObjectWrite, error: unknown): Promise<void> {
  if (isStorageError(error, 'NamespaceNotFound')) {
    // Another replica may have begun to delete the namespace, and this replica may not know yet.
    await write.model.store.changes.catchUp();
    checkCreateAllowed(write);
  }
  if (!isStorageError(error, 'AlreadyExists') || write.generatedNames === 0) return;
  if (write.generatedNames < maxNames) throw new StartAgain();
  throw new StatusError(
    409,
    'AlreadyExists',
    `the server was not able to generate a unique name with the prefix "${write.object.metadata.generateName ?? ''}"`,
    { details: { retryAfterSeconds: 1 } },
  );
}

/**
 * Runs right before the store writes. An object that was valid only under an earlier definition must not be stored
 * after the definition's change was acknowledged, so the write starts again with the current definition. Costs nothing
 * while the model is the served one; otherwise the stored definition decides.
 * @throws StatusError 404 where the resource is no longer served
 */
async function checkDefinition(write: ObjectWrite): Promise<void> {
  const { model } = write;
  if (model.watches.endReason === undefined) return;
  const present = await presentContext(model);
  if (equalJson(present.model as unknown as JsonObject, model.model as unknown as JsonObject)) return;
  write.model = present;
  throw new StartAgain();
}

async function presentContext(context: ModelContext): Promise<ModelContext> {
  const stored = await context.store.get(groupResource(definitionModel), {
    namespace: '',
    name: formatGroupResource(context.resource),
  });
  if (stored === undefined) throw newUnknownPath();
  const definition = JSON.parse(stored.body) as ApiObject;
  if (!isDefinition(definition) || !isEstablished(definition)) throw newUnknownPath();
  const model = modelFromDefinition(definition);
  const version = model.versions.find(({ name, served }) => served && name === context.version.name);
  if (version === undefined) throw newUnknownPath();
  const codec = new VersionCodec(model, version);
  return {
    ...context,
    model,
    version,
    codec,
    converter: context.newConverter(model, codec),
    fields: new FieldTracker(model, version),
  };
}
