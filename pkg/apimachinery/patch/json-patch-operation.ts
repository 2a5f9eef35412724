import { isJsonObject, type JsonValue } from '../meta/object.ts';
import { newBadRequest, newRequestEntityTooLarge } from '../status/status-error.ts';
import { parseJsonPointer, type JsonPointer } from './json-pointer.ts';

/** One parsed operation. Source: RFC 6902, section 4. */
export type JsonPatchOperation =
  | { op: 'add' | 'replace' | 'test'; path: JsonPointer; value: JsonValue }
  | { op: 'remove'; path: JsonPointer }
  | { op: 'move' | 'copy'; path: JsonPointer; from: JsonPointer };

/** As in Kubernetes. */
export const maxJsonPatchOperations = 10_000;

/** @throws StatusError 400 if it is not a JSON patch, 413 for more than 10 000 operations. */
export function parseJsonPatch(patch: unknown): JsonPatchOperation[] {
  if (!Array.isArray(patch)) throw newBadRequest('a JSON patch must be an array of operations');
  if (patch.length > maxJsonPatchOperations) {
    throw newRequestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${maxJsonPatchOperations}, got ${patch.length}`,
    );
  }
  return patch.map((operation: unknown, index) => parseOperation(operation, `patch operation ${index}`));
}

function parseOperation(operation: unknown, what: string): JsonPatchOperation {
  if (!isJsonObject(operation)) throw newBadRequest(`${what} must be an object`);
  const op = operation['op'];
  if (op !== 'add' && op !== 'replace' && op !== 'test' && op !== 'remove' && op !== 'move' && op !== 'copy') {
    throw newBadRequest(`${what}: op must be one of add, remove, replace, move, copy, test`);
  }
  const path = parseJsonPointer(operation['path'], `${what}: path`);
  if (op === 'remove') return { op, path };
  if (op === 'move' || op === 'copy') return { op, path, from: parseJsonPointer(operation['from'], `${what}: from`) };
  const value = Object.hasOwn(operation, 'value') ? operation['value'] : undefined;
  if (value === undefined) throw newBadRequest(`${what}: value is required`);
  return { op, path, value };
}
