import type { StatusCause } from '#pkg/apimachinery/index';

export type StorageErrorCode =
  /** An object of this name exists. */
  | 'AlreadyExists'
  | 'NotFound'
  /** The stored object is newer than the one that the write was computed from. */
  | 'Conflict'
  /** The lease that fences the write has another holder or none. */
  | 'FenceLost'
  /** Another object holds this value of a unique index: `index`. */
  | 'UniqueClash'
  /** An index cannot hold the object's value: `causes`. */
  | 'InvalidKey'
  | 'IndexNotReady'
  | 'NamespaceNotFound'
  /** A namespace that still contains objects cannot be deleted. */
  | 'NamespaceNotEmpty'
  /** The write would pass a quota; the message has the figures. */
  | 'QuotaExceeded'
  /** The idempotency key has been used: read the outcome with `findRememberedWrite`. */
  | 'IdempotencyKeyUsed'
  | 'ModelNotFound'
  /** The requested revision is no longer kept. */
  | 'Compacted'
  /** Too many writes are waiting. */
  | 'Overloaded'
  /** The query took too long. */
  | 'Timeout'
  /** The database does not answer. */
  | 'Unavailable'
  /** Another transaction uses a table that must be changed; the message says so. */
  | 'TableInUse'
  /** The keys of a model cannot be computed; the message says why. */
  | 'KeysUnavailable';

/** An error of a store, independent of HTTP; the registry converts it to a StatusError. */
export class StorageError extends Error {
  readonly code: StorageErrorCode;
  readonly index: string | undefined;
  readonly causes: StatusCause[];

  constructor(
    code: StorageErrorCode,
    message: string,
    options: { index?: string; causes?: StatusCause[]; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'StorageError';
    this.code = code;
    this.index = options.index;
    this.causes = options.causes ?? [];
  }
}

export function isStorageError(error: unknown, code?: StorageErrorCode): error is StorageError {
  return error instanceof StorageError && (code === undefined || error.code === code);
}
