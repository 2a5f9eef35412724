import { equalJson, isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import type { JsonApiObject } from '../../rest/strategy.ts';
import type { ModelContext } from '../model/model-context.ts';
import { checkStoredSize } from '../model/version-codec.ts';
import type { VersionConverter } from '../model/version-converter.ts';
import type { ObjectWrite } from './object-write.ts';

/** Increments the generation if the content changed, and converts the object to its stored form. */
export function convertObject(write: ObjectWrite): void | Promise<void> {
  const { request, model, object, old, context } = write;
  if (request.verb === 'delete') return;
  if (old !== undefined && contentChanged(model, object, old))
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  if (model.converter !== undefined) return convertByWebhook(write, model.converter);
  write.object = model.codec.toStored(object, (path) =>
    context.warn(`field "${path}" is not kept: the version that objects are stored in does not know it`),
  );
}

async function convertByWebhook(write: ObjectWrite, converter: VersionConverter): Promise<void> {
  write.object = await converter.toStored(write.object, write.context.signal);
}

/**
 * Converts the stored form back for the answer, before it is stored: what the webhook cannot show is not stored either.
 * The answer to a deletion shows no object.
 */
export function showObject(write: ObjectWrite): void | Promise<void> {
  const { request, model, type, isUnchanged, shownFrom } = write;
  write.shown = undefined;
  if (model.converter === undefined || (request.verb === 'delete' && type === 'delete')) return;
  if (isUnchanged && shownFrom !== undefined) write.shown = shownFrom.body;
  else return showConverted(write, model.converter);
}

async function showConverted(write: ObjectWrite, converter: VersionConverter): Promise<void> {
  write.shown = await converter.bodyOf(write.object, write.context.signal);
}

/**
 * Detects an update without changes, which is not stored, and one that removes the last finalizer of a deletion, which
 * deletes the object.
 */
export function compareWithStored(write: ObjectWrite): void {
  const { request, model, object, from, old } = write;
  if (request.verb !== 'update' || from === undefined || old === undefined) return;
  write.isUnchanged = isSameObject(object, model.codec.storedForm(from, old));
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  write.type = deletionTimestamp !== undefined && finalizers.length === 0 ? 'delete' : 'update';
}

/** An object that is too large only with its managed fields loses them, unless it is applied. @throws StatusError 413 */
export function limitStoredSize({ request, type, isUnchanged, object, from }: ObjectWrite): void {
  if (request.verb === 'delete' || type === 'delete' || isUnchanged) return;
  try {
    checkStoredSize(object, from);
  } catch (error) {
    if (request.isApplied === true || object.metadata.managedFields === undefined) throw error;
    delete object.metadata.managedFields;
    checkStoredSize(object, from);
  }
}

/** Seals an object of a confidential kind: the store, its errors and its logs never have the values. */
export function sealObject(write: ObjectWrite): void {
  const { request, model, object, old, from, isUnchanged } = write;
  if (isUnchanged) return;
  write.object =
    request.verb === 'delete' ? model.codec.keepSealed(object, from!) : model.codec.seal(object, old, from);
}

function contentChanged({ version }: ModelContext, object: JsonApiObject, old: JsonApiObject): boolean {
  return !equalJson(content(object, version.subresources.status), content(old, version.subresources.status));
}

function content(object: JsonApiObject, statusApart: boolean): JsonObject {
  const { metadata: _, ...rest } = object;
  if (!statusApart) return rest;
  const { status: _status, ...spec } = rest;
  return spec;
}

/**
 * Does `wanted` equal the stored object? The revision is ignored, and so are the times in managedFields, which every
 * write renews.
 */
export function isSameObject(wanted: JsonObject, stored: JsonObject): boolean {
  const { metadata: wantedMeta, ...wantedRest } = wanted;
  const { metadata: storedMeta, ...storedRest } = stored;
  return equalJson(wantedRest, storedRest) && equalJson(comparable(wantedMeta), comparable(storedMeta));
}

function comparable(metadata: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(metadata)) return metadata;
  const { resourceVersion: _, managedFields, ...rest } = metadata;
  return Array.isArray(managedFields) ? { ...rest, managedFields: managedFields.map(withoutTime) } : rest;
}

function withoutTime(entry: JsonValue): JsonValue {
  if (!isJsonObject(entry)) return entry;
  const { time: _, ...rest } = entry;
  return rest;
}
