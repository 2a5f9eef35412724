import {
  checkMetadataShape,
  isJsonObject,
  maxJsonValues,
  metadataCountCauses,
  newBadRequest,
  newInvalid,
  newRequestEntityTooLarge,
  type JsonObject,
  type JsonValue,
  type ObjectKey,
} from '#pkg/apimachinery/index';
import { DefaultBudget } from '../../schema/apply-defaults.ts';
import { cloneJson, countValues } from '../../schema/json-value.ts';
import { groupKind, type ModelContext } from '../model/model-context.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import type { ObjectWrite } from './object-write.ts';

/** Sets the desired object: the body, or the update's transform of the stored object. StatusError 400. */
export function takeWantedObject(write: ObjectWrite): void | Promise<void> {
  const { request, model, old, conversions, context } = write;
  if (request.verb === 'create') {
    write.body = request.body;
    checkIdentity(model, request.body, request);
  } else if (request.verb === 'update') {
    const transform = (): JsonObject | Promise<JsonObject> => request.transform(cloneJson(old!) as JsonApiObject);
    const body = conversions === undefined ? transform() : conversions.run(transform, context.signal);
    if (body instanceof Promise) return body.then((object) => take(write, object, request.key));
    take(write, body, request.key);
  }
}

function take(write: ObjectWrite, body: JsonObject, key: ObjectKey): void {
  write.body = body;
  checkIdentity(write.model, body, key);
}

/**
 * Copies the desired object: the transform may return the same object again.
 * @throws StatusError 413 for more than 100 000 values and keys outside of managed fields, unless the stored object had as many; 422 for too many
 * labels, annotations, finalizers or owner references.
 */
export function copyWantedObject(write: ObjectWrite): void {
  const { request, model, body, old } = write;
  if (request.verb === 'delete') return;
  refuseCounts(model, body);
  const content = withoutManagedFields(body);
  const room = maxJsonValues - countValues(content, maxJsonValues);
  if (room < 0 && !isNoLarger(content, old && withoutManagedFields(old)))
    throw newRequestEntityTooLarge(`the object would hold more than ${maxJsonValues} values and keys`);
  write.valuesLeft = Math.max(room, 0);
  const { apiVersion, kind } = model.codec;
  // The order of top-level fields is that of the stored text.
  const copy: JsonObject = { apiVersion, kind, metadata: cloneJson(body['metadata'] ?? {}) };
  for (const key of Object.keys(body))
    if (!Object.hasOwn(copy, key) && key !== '__proto__') copy[key] = cloneJson(body[key]!);
  write.object = copy as JsonApiObject;
}

/**
 * Removes fields that this version does not know. Unknown and duplicate fields are a 400 under `fieldValidation=Strict`
 * and warnings under `Warn`; wrong types in metadata are always a 400.
 */
export function pruneObject({ request, model: { codec, version }, context, object }: ObjectWrite): void {
  if (request.verb === 'delete') return;
  const unknown = [...checkMetadataShape(object), ...codec.validator.prune(object)];
  const findings = [...context.findings, ...unknown.map((path) => `unknown field "${path}"`)];
  if (findings.length === 0) return;
  if (context.fieldValidation === 'Strict') {
    const { kind } = codec;
    throw newBadRequest(
      `${kind} in version "${version.name}" cannot be handled as a ${kind}: strict decoding error: ${findings.join(', ')}`,
    );
  }
  if (context.fieldValidation === 'Warn') for (const text of findings) context.warn(text);
}

/**
 * A null that is not allowed means the default, or absence. A null that is applied to an object of a definition is
 * refused, unless there is a default. Kubernetes does the same, but its built-in kinds take null as absence. A null that
 * the merge leaves, where a list or map has lost its last item, is absence as well. A new
 * object has only the defaults of its status, where that is a subresource.
 * @throws StatusError 413 for defaults that exceed their budget
 */
export function applyDefaults({ request, model, object, valuesLeft }: ObjectWrite): void {
  if (request.verb === 'delete') return;
  if (request.verb === 'create' && model.version.subresources.status) delete object['status'];
  model.codec.validator.applyDefaults(object, {
    budget: new DefaultBudget({ values: valuesLeft }),
    keepsNulls: model.fromDefinition && request.appliesNull === true,
  });
}

/** Checks that the body's identity, where present, matches the URL. StatusError 400. */
function checkIdentity({ codec }: ModelContext, body: JsonObject, key: { namespace: string; name?: string }): void {
  const { apiVersion, kind, metadata } = body;
  mustBe(codec.apiVersion, apiVersion, 'the API version in the data', 'the expected API version');
  mustBe(codec.kind, kind, 'the kind in the data', 'the expected kind');
  // Metadata that is no object is rejected later, with other invalid shapes.
  if (!isJsonObject(metadata)) return;
  if (key.name !== undefined) mustBe(key.name, metadata['name'], 'the name of the object', 'the name on the URL');
  mustBe(key.namespace, metadata['namespace'], 'the namespace of the object', 'the namespace on the URL');
}

function mustBe(expected: string, found: JsonValue | undefined, subject: string, standard: string): void {
  if (found === undefined || found === null || found === '' || found === expected) return;
  const shown = typeof found === 'string' ? found.slice(0, 253) : typeof found;
  throw newBadRequest(`${subject} (${shown}) does not match ${standard} (${expected})`);
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isJsonObject(metadata) || metadata['managedFields'] === undefined) return object;
  const { managedFields: _, ...kept } = metadata;
  return { ...object, metadata: kept };
}

/** An object stored before the limit existed may be changed, for example to remove finalizers, but it may not grow. */
function isNoLarger(body: JsonObject, old: JsonObject | undefined): boolean {
  const most = old === undefined ? 0 : countValues(old);
  return countValues(body, most) <= most;
}

/** Checked before the copy, so that too many labels are not processed one by one only to be rejected. */
function refuseCounts(context: ModelContext, { metadata }: JsonObject): void {
  const causes = metadataCountCauses(metadata);
  if (causes.length === 0) return;
  const name = isJsonObject(metadata) ? metadata['name'] : undefined;
  throw newInvalid(groupKind(context), typeof name === 'string' ? name.slice(0, 253) : '', causes);
}
