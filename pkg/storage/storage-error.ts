import type { StatusCause } from '#pkg/apimachinery/index';

export type StorageErrorCode =
  /** An object of this name exists. */
  | 'AlreadyExists'
  | 'NotFound'
  /** The object is newer than what the write was computed from. */
  | 'Conflict'
  /** The lease that fences the write is another's by now, or nobody's. */
  | 'FenceLost'
  /** Another object holds this value of a unique index: `index`. */
  | 'UniqueClash'
  /** An index cannot hold the object's value: `causes`. */
  | 'InvalidKey'
  | 'IndexNotReady'
  | 'NamespaceNotFound'
  /** A namespace that still holds objects cannot go. */
  | 'NamespaceNotEmpty'
  /** The idempotency key has been used: recall it. */
  | 'IdempotencyKeyUsed'
  | 'ModelNotFound'
  /** The revision asked for is no longer kept. */
  | 'Compacted'
  /** Too much waits to be written. */
  | 'Overloaded'
  /** The query took too long. */
  | 'Timeout'
  /** The database does not answer. */
  | 'Unavailable'
  /** Somebody else uses a table that is to be changed; the message says so. */
  | 'TableInUse'
  /** What computes the keys of a model does not; the message says why. */
  | 'KeysUnavailable';

/** What can go wrong in a store, in its own words; the registry turns it into a StatusError. */
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
