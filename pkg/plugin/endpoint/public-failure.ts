import {
  isStatusError,
  newInternalError,
  newServiceUnavailable,
  newTimeout,
  type StatusError,
} from '#pkg/apimachinery/index';

/** A plugin that is starting or has crashed may be available again soon. */
export function newEndpointUnavailable(cause?: unknown, retryAfterSeconds = 2): StatusError {
  return withCause(newServiceUnavailable('this endpoint is not available now', retryAfterSeconds), cause);
}

/**
 * What the caller of an endpoint gets for a failure: a refusal unchanged, any other failure only by its kind, because
 * its message may contain internals such as addresses of other servers. The log has the details.
 */
export function publicFailure(error: unknown): StatusError {
  if (!isStatusError(error)) return newInternalError(error);
  if (error.code < 500) return error;
  const retryAfterSeconds = error.details?.retryAfterSeconds;
  if (error.code === 503) return newEndpointUnavailable(error, retryAfterSeconds);
  return error.code === 504
    ? withCause(newTimeout('Timeout: the endpoint was not done in time', retryAfterSeconds), error)
    : newInternalError(error);
}

function withCause(failure: StatusError, cause: unknown): StatusError {
  failure.cause = cause;
  return failure;
}
