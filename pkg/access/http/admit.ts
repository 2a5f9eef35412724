import type { Caller } from './caller.ts';
import type { Throttle } from '#pkg/http/index';
import { isAccessError, newThrottled } from './access-error.ts';
import type { AccessRequest } from './access-request.ts';
import { authenticate, type AuthenticationParts } from './authenticate.ts';

export interface AdmissionParts extends AuthenticationParts {
  throttle: Throttle;
}

/**
 * Authenticates and counts the request: per user, or per address if anonymous or with a wrong credential. Throws 401 as
 * `authenticate` does, and 429.
 */
export async function admit(
  request: AccessRequest,
  { throttle, ...authentication }: AdmissionParts,
): Promise<Caller | undefined> {
  let caller: Caller | undefined;
  try {
    caller = await authenticate(request, authentication);
    // Set before counting, so that the log names the user of a 429 too.
    if (caller !== undefined) request.context.user = { name: caller.username, uid: caller.id, groups: [] };
  } catch (error) {
    // Limits the guessing of credentials.
    if (isAccessError(error) && error.status === 401) await count(throttle, `ip:${request.address}`);
    throw error;
  }
  await count(throttle, caller === undefined ? `ip:${request.address}` : `user:${caller.id}`);
  return caller;
}

async function count(throttle: Throttle, key: string): Promise<void> {
  const retryAfterSeconds = await throttle.take(key);
  if (retryAfterSeconds !== undefined) throw newThrottled(retryAfterSeconds);
}
