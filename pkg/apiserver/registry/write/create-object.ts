import { EventLoopTurns, newForbidden, StatusError, type JsonObject } from '#pkg/apimachinery/index';
import { isStorageError, type StoredObject } from '#pkg/storage/index';
import type { WriteContext } from '../../rest/served-resource.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { warningOnce } from '../../rest/write-context.ts';
import { subjectOf, writeOptions, type ModelContext } from '../model/model-context.ts';
import { statusFromStorage } from '../model/status-from-storage.ts';
import { checkStoredSize } from '../model/version-codec.ts';
import { generatedName, newObjectMeta } from './object-meta-fields.ts';
import { checkIdentity, readWrittenObject } from './read-written-object.ts';
import { checkPresent, underPresentModel } from './under-present-model.ts';
import { validateObject } from './validate-object.ts';

/** Names tried for one generateName. */
const maxNames = 8;

/** Creates an object; what the client says of uid, revision, generation, timestamps and managedFields is ignored. */
export function createObject(
  context: ModelContext,
  namespace: string,
  body: JsonObject,
  write: WriteContext,
): Promise<StoredObject> {
  const once = warningOnce(write);
  return underPresentModel(context, (present) => createOnce(present, namespace, body, once));
}

async function createOnce(
  context: ModelContext,
  namespace: string,
  body: JsonObject,
  write: WriteContext,
): Promise<StoredObject> {
  checkIdentity(context, body, { namespace });
  const turns = new EventLoopTurns({ signal: write.signal });
  if (turns.due) await turns.next();
  const sent = await readWrittenObject(context, body, write);
  // A client may have left both out.
  const { name, generateName }: { name?: string; generateName?: string } = sent.metadata;
  const sentName = name ?? '';
  const prefix = generateName ?? '';
  await checkAllowedNow(context, namespace, sentName);
  if (context.version.subresources.status) delete sent['status'];
  const isGenerated = sentName === '' && prefix !== '';
  if (turns.due) await turns.next();
  for (let attempt = 1; ; attempt += 1) {
    const wanted = isGenerated ? generatedName(prefix) : sentName;
    const created = await createNamed(
      context,
      { sent, name: wanted, namespace, mayRetry: isGenerated && attempt < maxNames },
      write,
    );
    if (created !== undefined) return created;
  }
}

function checkAllowed({ createRefusal, resource }: ModelContext, namespace: string, name: string): void {
  const refusal = createRefusal(namespace);
  if (refusal !== undefined) throw newForbidden(resource, name, refusal.detail, refusal.causes);
}

/** A namespace that was being deleted may be gone by now, or there again. What cannot be asked stays refused. */
async function checkAllowedNow(context: ModelContext, namespace: string, name: string): Promise<void> {
  if (context.createRefusal(namespace) === undefined) return;
  await context.store.changes.catchUp().catch(() => undefined);
  checkAllowed(context, namespace, name);
}

interface NamedObject {
  sent: JsonApiObject;
  name: string;
  namespace: string;
  mayRetry: boolean;
}

/** Undefined: the name is taken, and another may be tried. */
async function createNamed(
  context: ModelContext,
  { sent, name, namespace, mayRetry }: NamedObject,
  write: WriteContext,
): Promise<StoredObject | undefined> {
  const { store, resource, codec, strategy } = context;
  const object: JsonApiObject = {
    ...sent,
    metadata: newObjectMeta(sent.metadata, { name, namespace, now: Date.now() }),
  } as JsonApiObject;
  const turns = new EventLoopTurns({ signal: write.signal });
  strategy.prepareForCreate?.(object);
  await validateObject(context, object, write);
  if (turns.due) await turns.next();
  const stored = codec.toStored(object, (path) =>
    write.warn(`field "${path}" is not kept: the version that objects are stored in does not know it`),
  );
  checkStoredSize(stored);
  if (turns.due) await turns.next();
  await checkPresent(context);
  const commit = (): Promise<StoredObject> =>
    store.write({ type: 'create', resource, object: stored, fingerprint: codec.fingerprint }, writeOptions(write));
  try {
    return await (strategy.commit?.(
      { type: 'create', object: stored, dryRun: write.dryRun, signal: write.signal },
      commit,
    ) ?? commit());
  } catch (error) {
    if (!isStorageError(error) || error.code === 'IdempotencyKeyUsed') throw error;
    if (error.code === 'NamespaceNotFound') {
      // Another replica may have begun its deletion, which this one has yet to hear of.
      await store.changes.catchUp();
      checkAllowed(context, namespace, name);
    }
    if (error.code !== 'AlreadyExists' || sent.metadata.name === name)
      throw statusFromStorage(error, subjectOf(context, { namespace, name }));
    if (mayRetry) return undefined;
    throw new StatusError(
      409,
      'AlreadyExists',
      `the server was not able to generate a unique name with the prefix "${sent.metadata.generateName ?? ''}"`,
      {
        details: { retryAfterSeconds: 1 },
      },
    );
  }
}
