import type { JsonValue } from '../meta/object.ts';
import { StatusError } from '../status/status-error.ts';
import { parseJsonPatch, type JsonPatchOperation } from './json-patch-operation.ts';
import { InapplicableOperation, PatchTarget } from './patch-target.ts';

/**
 * The document after a JSON patch (RFC 6902), all operations or none. Neither argument is changed, and the result
 * shares nothing with them. `document` is a result of `decodeJson`, so at most 100 levels deep.
 * @throws StatusError 400 for a malformed patch or a result nested deeper than 100 levels; 422 for an operation that
 * cannot be applied, with its index, path and reason as a cause; 413 for over 10 000 operations, a result over 3 MiB,
 * or operations whose work is out of proportion.
 */
export function applyJsonPatch(document: JsonValue, patch: unknown): JsonValue {
  const operations = parseJsonPatch(patch);
  const target = new PatchTarget(document);
  for (const [index, operation] of operations.entries()) {
    try {
      apply(target, operation);
    } catch (error) {
      throw error instanceof InapplicableOperation ? newInapplicable(index, operation, error.message) : error;
    }
  }
  return target.finish();
}

function apply(target: PatchTarget, operation: JsonPatchOperation): void {
  switch (operation.op) {
    case 'add':
      return target.add(operation.path, operation.value);
    case 'replace':
      return target.replace(operation.path, operation.value);
    case 'remove':
      target.remove(operation.path);
      return;
    case 'move':
      return target.move(operation.from, operation.path);
    case 'copy':
      return target.copy(operation.from, operation.path);
    case 'test':
      return target.test(operation.path, operation.value);
  }
}

function newInapplicable(index: number, operation: JsonPatchOperation, reason: string): StatusError {
  const message = `patch operation ${index} (${operation.op}): ${reason}`;
  return new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {
    details: { causes: [{ reason: 'FieldValueInvalid', message, field: `patch[${index}]` }] },
  });
}
