import { newTimeout, StatusError } from '#pkg/apimachinery/index';

/** Why the work was given up: the signal's own StatusError, or a 504. */
export function abortError({ reason }: AbortSignal): StatusError {
  return reason instanceof StatusError ? reason : newTimeout('the request was given up before it was done');
}
