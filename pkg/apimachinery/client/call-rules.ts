import type { ObjectKey } from '../meta/object.ts';
import { encodeJson } from '../serializer/encode-json.ts';
import { newBadRequest } from '../status/status-error.ts';
import { pathSegmentViolation } from '../validation/path-segment.ts';
import type { DeleteOptions } from './client.ts';

/**
 * What every Client refuses before it sends a request, so that all transports behave alike. A name that cannot be part
 * of a URL would address something else over HTTP: an empty one the whole collection.
 * @throws StatusError 400
 */
export function checkObjectKey({ namespace, name }: ObjectKey): void {
  if (name === undefined || name === '') throw newBadRequest('name must be provided');
  checkSegment('name', name);
  checkNamespaceName(namespace);
}

/** '' and absent mean no namespace. @throws StatusError 400 */
export function checkNamespaceName(namespace: string | undefined): void {
  if (namespace !== undefined && namespace !== '') checkSegment('namespace', namespace);
}

/** 0 is refused: over HTTP it would mean all present objects. @throws StatusError 400 */
export function checkWatchStart(resourceVersion: string | undefined): void {
  if (resourceVersion === undefined || /^0*$/.test(resourceVersion))
    throw newBadRequest('a watch begins at a resourceVersion that the server gave');
}

/** An empty precondition is refused: it would check nothing. @throws StatusError 400 */
export function checkDeletePreconditions({ uid, resourceVersion }: DeleteOptions): void {
  if (uid === '' || resourceVersion === '') throw newBadRequest('a precondition must not be empty');
}

/** The JSON of a request body, without undefined properties. @throws StatusError 400 for a value without JSON form. */
export function encodeRequestBody(value: unknown): string {
  let text: string | undefined;
  try {
    text = encodeJson(value);
  } catch (error) {
    throw newBadRequest(
      `the object cannot be sent as JSON: ${error instanceof Error ? error.message : 'it is not serializable'}`,
    );
  }
  if (text === undefined) throw newBadRequest('an object is expected');
  return text;
}

function checkSegment(what: string, text: string): void {
  const violation = typeof text === 'string' ? pathSegmentViolation(text) : 'must be a string';
  if (violation !== undefined) throw newBadRequest(`the ${what} in the request is not valid: ${violation}`);
}
