import {
  fenceHeader,
  newAlreadyExists,
  newConflict,
  newExpired,
  newForbidden,
  newInternalError,
  newInvalid,
  newNotFound,
  newServiceUnavailable,
  newTimeout,
  newTooManyRequests,
  newUnknownPath,
  type GroupResource,
  type ObjectKey,
  type StatusError,
} from '#pkg/apimachinery/index';
import { isStorageError, type StorageError } from '#pkg/storage/index';
import type { ModelContext } from './model-context.ts';

/** The subject of a failed write or read. */
export interface StorageSubject {
  resource: GroupResource;
  kind: string;
  /** '' where the operation concerns no single object. */
  name: string;
  namespace: string;
}

export const objectModified =
  'the object has been modified; please apply your changes to the latest version and try again';

/** The key for a list, and for other operations that concern no single object. */
export const noObject: ObjectKey = { namespace: '', name: '' };

/**
 * The boundary between the store and the API: an error of the store in `work` leaves it as a StatusError. Code inside
 * it may only compare a StorageError's code. `about.key` is read after `work` has failed.
 */
export async function translateErrors<T>(
  about: { model: ModelContext; key: ObjectKey },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { model, key } = about;
    throw statusFromError(error, subjectOf(model, key));
  }
}

export function subjectOf({ resource, model }: ModelContext, { namespace, name }: ObjectKey): StorageSubject {
  return { resource, kind: model.names.kind, namespace, name };
}

/**
 * Converts an error of the store: a StorageError or an aborted wait becomes a StatusError; any other error is a bug and
 * stays unchanged.
 */
export function statusFromError(error: unknown, subject: StorageSubject): unknown {
  if (isStorageError(error)) return statusFromStorage(error, subject);
  const isAbort = typeof error === 'object' && error !== null && 'name' in error && error.name === 'AbortError';
  return isAbort ? newTimeout('the request was given up before it was done') : error;
}

/** Converts a StorageError to a StatusError: the only place that does so. */
export function statusFromStorage(error: StorageError, subject: StorageSubject): StatusError {
  const { resource, kind, name, namespace } = subject;
  switch (error.code) {
    case 'AlreadyExists':
      return newAlreadyExists(resource, name);
    case 'NotFound':
      return newNotFound(resource, name);
    case 'Conflict':
      return newConflict(resource, name, objectModified);
    case 'FenceLost':
      return newConflict(resource, name, error.message, [
        { reason: 'FieldValueInvalid', message: error.message, field: fenceHeader },
      ]);
    case 'UniqueClash':
      return newUniqueClash(error, subject);
    case 'InvalidKey':
      return newInvalid({ group: resource.group, kind }, name, error.causes);
    case 'IndexNotReady':
      return newServiceUnavailable(error.message, 5);
    case 'NamespaceNotFound':
      return newNotFound({ group: '', resource: 'namespaces' }, namespace);
    case 'NamespaceNotEmpty':
      return newConflict(resource, name, 'the namespace is not empty: delete the objects in it first');
    case 'QuotaExceeded':
      return newForbidden(resource, name, error.message);
    case 'IdempotencyKeyUsed':
      // The caller of an idempotent write looks up the first outcome; this error remains where that outcome is already
      // gone.
      return newConflict(resource, name, 'a request with this Idempotency-Key has been carried out');
    case 'ModelNotFound':
      return newUnknownPath();
    case 'Compacted':
      return newExpired('the resource version of the request is no longer kept: list again');
    case 'Overloaded':
      return newTooManyRequests(error.message);
    case 'Timeout':
      return causedBy(error, newTimeout(`the request did not complete within the time allowed: ${error.message}`));
    case 'Unavailable':
    case 'TableInUse':
    case 'KeysUnavailable':
      return causedBy(error, newServiceUnavailable(error.message));
    default:
      return newInternalError(error);
  }
}

/** The cause is for the log: the response contains only the store's message. */
function causedBy(error: StorageError, status: StatusError): StatusError {
  status.cause = error;
  return status;
}

function newUniqueClash({ index = '' }: StorageError, { resource, name }: StorageSubject): StatusError {
  const message = `another object has the same value of the unique index "${index}"`;
  return newConflict(resource, name, message, [{ reason: 'FieldValueDuplicate', message, field: index }]);
}
