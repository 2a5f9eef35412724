import type { ModelContext } from '../model/model-context.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { cloneJson } from '../../schema/json-value.ts';
import { changedObjectMeta, generatedName, newObjectMeta, statusObjectMeta } from './object-meta-fields.ts';
import type { ObjectWrite } from './object-write.ts';
import { prepareDeletion } from './prepare-deletion.ts';

/**
 * Sets the server's fields in metadata and status, and calls the kind's `Strategy`. For a new object, the client's
 * values of uid, revision, generation, timestamps and managedFields are ignored.
 */
export function prepareObject(write: ObjectWrite): void | Promise<void> {
  const { request } = write;
  if (request.verb === 'delete') return prepareDeletion(write, request);
  if (request.verb === 'create') prepareCreate(write);
  else prepareUpdate(write, request.subresource);
}

function prepareCreate(write: ObjectWrite): void {
  const { model, object: sent, key } = write;
  const { namespace } = key;
  const { generateName = '' } = sent.metadata;
  if (key.name === '' && generateName !== '') {
    write.key = { namespace, name: generatedName(generateName) };
    write.generatedNames += 1;
  }
  const metadata = newObjectMeta(sent.metadata, { name: write.key.name, namespace, now: Date.now() });
  write.object = { ...sent, metadata } as JsonApiObject;
  model.strategy.prepareForCreate?.(write.object);
}

function prepareUpdate(write: ObjectWrite, subresource: '' | 'status'): void {
  const { model, object: sent } = write;
  const old = write.old!;
  write.object = subresource === 'status' ? withNewStatus(sent, old) : withNewContent(model, sent, old);
  model.strategy.prepareForUpdate?.(write.object, old, subresource);
}

/** The desired object on the main resource: system fields are the old ones, and so is status if it is a subresource. */
function withNewContent({ version }: ModelContext, sent: JsonApiObject, old: JsonApiObject): JsonApiObject {
  const object = { ...sent, metadata: changedObjectMeta(sent.metadata, old.metadata) } as JsonApiObject;
  return version.subresources.status ? withStatusOf(object, old) : object;
}

/** The desired object on `/status`: everything except status is the old object's. */
function withNewStatus(sent: JsonApiObject, old: JsonApiObject): JsonApiObject {
  return withStatusOf(
    { ...(cloneJson(old) as JsonApiObject), metadata: statusObjectMeta(sent.metadata, old.metadata) } as JsonApiObject,
    sent,
  );
}

function withStatusOf(target: JsonApiObject, source: JsonApiObject): JsonApiObject {
  const { status: _, ...object } = target;
  const { status } = source;
  return (status === undefined ? object : { ...object, status: cloneJson(status) }) as JsonApiObject;
}
