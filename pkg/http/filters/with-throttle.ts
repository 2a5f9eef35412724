import { newTooManyRequests } from '#pkg/apimachinery/index';
import { systemMasters, type UserInfo } from '#pkg/identity/index';
import type { Filter } from '../request/request-context.ts';
import type { Throttle } from './limits/throttle.ts';

/**
 * Counts the requests of each user in a minute, and answers 429 with `Retry-After` beyond the throttle's limit. A watch
 * is one request. Members of `system:masters` are exempt, and so are users without a uid, which are the platform's own
 * processes and anonymous clients. Must run after `withAuthentication`: a request that acts as somebody else counts as
 * one of the user who sent it.
 */
export function withThrottle(throttle: Throttle): Filter {
  return (next) => async (context) => {
    const { user } = context;
    const retryAfterSeconds = isExempt(user) ? undefined : await throttle.take(`user:${user.uid}`);
    if (retryAfterSeconds !== undefined)
      throw newTooManyRequests('too many requests of one user in a minute, please try again later', retryAfterSeconds);
    await next(context);
  };
}

function isExempt({ uid, groups }: UserInfo): boolean {
  return uid === '' || groups.includes(systemMasters);
}
