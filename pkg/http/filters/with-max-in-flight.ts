import { newTooManyRequests } from '#pkg/apimachinery/index';
import { anonymousUser } from '#pkg/identity/index';
import type { Filter, RequestContext } from '../request-context.ts';
import type { RequestInfo } from '../request-info.ts';

/** A limit left out is no limit. */
export interface MaxInFlight {
  /** Requests under way, watches not counted. */
  total?: number;
  perUser?: number;
  watchesPerUser?: number;
  /** Requests that are neither counted nor refused, such as health checks. */
  isExempt?: (info: RequestInfo) => boolean;
}

/**
 * 429 with Retry-After where more requests are under way than allowed.
 * The limits by user count nobody right before `withAuthentication` has run, so it is used twice: `total` before, the others after. Anonymous users count by address.
 */
export function withMaxInFlight({ total, perUser, watchesPerUser, isExempt = () => false }: MaxInFlight): Filter {
  let running = 0;
  const requests = new UserCounter(perUser);
  const watches = new UserCounter(watchesPerUser);
  return (next) => async (context) => {
    if (isExempt(context.info)) return next(context);
    const isWatch = context.info.isResourceRequest && context.info.verb === 'watch';
    const counter = isWatch ? watches : requests;
    const user = userOf(context);
    if (!isWatch && total !== undefined && running >= total) throw newTooManyRequests('too many requests, please try again later');
    if (!counter.add(user)) throw newTooManyRequests(`too many ${isWatch ? 'watches' : 'requests'} of one user, please try again later`);
    if (!isWatch) running += 1;
    try {
      await next(context);
    } finally {
      if (!isWatch) running -= 1;
      counter.remove(user);
    }
  };
}

function userOf({ user, request }: RequestContext): string {
  return user.name === anonymousUser.name ? `anonymous:${request.socket.remoteAddress}` : `user:${user.name}`;
}

class UserCounter {
  private readonly limit: number | undefined;
  private readonly counts = new Map<string, number>();

  constructor(limit: number | undefined) {
    this.limit = limit;
  }

  add(user: string): boolean {
    if (this.limit === undefined) return true;
    const count = this.counts.get(user) ?? 0;
    if (count >= this.limit) return false;
    this.counts.set(user, count + 1);
    return true;
  }

  remove(user: string): void {
    if (this.limit === undefined) return;
    const count = this.counts.get(user) ?? 0;
    if (count <= 1) this.counts.delete(user);
    else this.counts.set(user, count - 1);
  }
}
