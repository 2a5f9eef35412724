import { checkMetadataShape, isJsonObject, newBadRequest, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { cloneJson } from '../schema/json-value.ts';
import type { ModelContext } from './model-context.ts';
import type { WriteContext } from './served-resource.ts';
import type { JsonApiObject } from './strategy.ts';

/**
 * A client's object as this version knows it: a copy, with metadata of the right types, without unknown fields, with defaults.
 * Unknown and duplicate fields are a 400 under `fieldValidation=Strict` and warnings under `Warn`; wrong types in metadata are a 400 always.
 */
export function readBody({ codec, version }: ModelContext, body: JsonObject, write: WriteContext): JsonApiObject {
  const object = cloneJson(body) as JsonObject;
  const { apiVersion, kind } = codec;
  // Top-level order is that of the stored text.
  const typed: JsonObject = { apiVersion, kind, metadata: object['metadata'] ?? {}, ...without(object) };
  const unknown = [...checkMetadataShape(typed), ...codec.validator.prune(typed)].map((path) => `unknown field "${path}"`);
  const findings = [...write.findings, ...unknown];
  if (findings.length > 0 && write.fieldValidation === 'Strict') {
    throw newBadRequest(`${kind} in version "${version.name}" cannot be handled as a ${kind}: strict decoding error: ${findings.join(', ')}`);
  }
  if (write.fieldValidation === 'Warn') for (const text of findings) write.warn(text);
  codec.validator.applyDefaults(typed);
  return typed as JsonApiObject;
}

/** What the body says of itself must be what the URL says. Where it says nothing, that is right too. StatusError 400. */
export function checkIdentity({ codec }: ModelContext, body: JsonObject, key: { namespace: string; name?: string }): void {
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

function without({ apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...rest }: JsonObject): JsonObject {
  return rest;
}
