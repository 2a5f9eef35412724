import {
  isStatusError,
  newInternalError,
  newServiceUnavailable,
  newTimeout,
  type StatusError,
} from '#pkg/apimachinery/index';

/** A plugin that is starting, or was stopped by its own fault, may be back any moment. */
export function newEndpointUnavailable(cause?: unknown, retryAfterSeconds = 2): StatusError {
  return withCause(newServiceUnavailable('this endpoint is not available now', retryAfterSeconds), cause);
}

/**
 * What the caller of an endpoint is told of a failure: a refusal as it is, of a failure behind it only its kind. A
 * handler that lets one through may not know what it says: addresses of other servers, for one. The log has it all.
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
