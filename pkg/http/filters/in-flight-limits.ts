import { newTooManyRequests, type StatusError } from '#pkg/apimachinery/index';
import { anonymousUser } from '#pkg/identity/index';
import type { Filter, Handler, RequestContext } from '../request-context.ts';
import type { RequestInfo } from '../request-info.ts';
import { sendJson } from '../respond.ts';
import { Gate } from './gate.ts';

/** A limit left out is no limit. */
export interface MaxInFlight {
  /** Requests under way at a time, watches not counted. */
  total?: number;
  perUser?: number;
  watches?: number;
  watchesPerUser?: number;
  /** How long a request above `total` or `perUser` may wait for another to end. Milliseconds, default 1000; 0 refuses at once. */
  maxWaitMs?: number;
  /** Requests that have a small limit of their own, such as health checks: they work when nothing else does. */
  isExempt?: (info: RequestInfo) => boolean;
  observer?: InFlightObserver;
}

export type RefusedBy = 'total' | 'user' | 'watches' | 'user_watches' | 'exempt';

/** Hears what the limits do; must not throw. */
export interface InFlightObserver {
  refused(by: RefusedBy): void;
  /** A request had to wait, whether it was let in or not. */
  waited(ms: number): void;
}

/** Of requests that are exempt from the other limits, under way at a time. */
const maxExempt = 64;

// Made once: under overload each costs more than the rest of the answer.
const tooMany: Readonly<Record<RefusedBy, Refusal>> = {
  total: newRefusal('too many requests, please try again later'),
  user: newRefusal('too many requests of one user, please try again later'),
  watches: newRefusal('too many watches, please try again later'),
  user_watches: newRefusal('too many watches of one user, please try again later'),
  exempt: newRefusal('too many health checks, please try again later'),
};

interface Refusal {
  error: StatusError;
  body: Buffer;
}

function newRefusal(message: string): Refusal {
  const error = newTooManyRequests(message);
  return { error, body: Buffer.from(JSON.stringify(error.toStatus())) };
}

/**
 * Limits what is under way: 429 with Retry-After where a request has waited too long for others to end, and for a watch too many at once.
 *
 * Two filters, as nobody's user is known before `withAuthentication`. `beforeAuthentication` lets requests of one credential (of one address, where there
 * is none) wait for each other, and then for all others: what it refuses has cost next to nothing, and its body was not read. `perUser` counts
 * those of all credentials of a user together, and refuses at once. Both stand within `withTimeout`: a request that was answered by a
 * time-out counts until its work has ended.
 */
export class InFlightLimits {
  private readonly options: MaxInFlight;
  private readonly maxWaitMs: number;
  private readonly all: Gate | undefined;
  private readonly exempt = new Gate({ limit: maxExempt, maxWaitMs: 0 });
  private readonly byCredential = new Map<string, Gate>();
  private readonly requests: UserCounter;
  private readonly watches: UserCounter;
  private watchCount = 0;

  constructor(options: MaxInFlight) {
    this.options = options;
    this.maxWaitMs = options.maxWaitMs ?? 1000;
    this.requests = new UserCounter(options.perUser);
    this.watches = new UserCounter(options.watchesPerUser);
    if (options.total !== undefined) this.all = new Gate({ limit: options.total, maxWaitMs: this.maxWaitMs });
  }

  /** Requests that wait for others to end. */
  get waiting(): number {
    let waiting = this.all?.waiting ?? 0;
    for (const gate of this.byCredential.values()) waiting += gate.waiting;
    return waiting;
  }

  /** Requests under way, watches not counted; 0 where there is no limit. */
  get running(): number {
    return this.all?.running ?? 0;
  }

  readonly beforeAuthentication: Filter = (next) => (context) => {
    if (isWatch(context)) return this.watch(next, context);
    if (this.options.isExempt?.(context.info) === true) return this.through(this.exempt, 'exempt', next, context);
    const ofAll: Handler = this.all === undefined ? next : (each) => this.through(this.all!, 'total', next, each);
    return this.options.perUser === undefined ? ofAll(context) : this.ofCredential(this.options.perUser, ofAll, context);
  };

  readonly perUser: Filter = (next) => async (context) => {
    if (this.options.isExempt?.(context.info) === true) return next(context);
    const [counter, refusal]: [UserCounter, RefusedBy] = isWatch(context) ? [this.watches, 'user_watches'] : [this.requests, 'user'];
    const user = context.user.name === anonymousUser.name ? `anonymous:${context.request.socket.remoteAddress}` : context.user.name;
    if (!counter.add(user)) return this.refuse(refusal, context);
    try {
      await next(context);
    } finally {
      counter.remove(user);
    }
  };

  private async ofCredential(limit: number, next: Handler, context: RequestContext): Promise<void> {
    const { request } = context;
    const credential = request.headers.authorization ?? request.socket.remoteAddress ?? '';
    let gate = this.byCredential.get(credential);
    if (gate === undefined) this.byCredential.set(credential, (gate = new Gate({ limit, maxWaitMs: this.maxWaitMs })));
    try {
      await this.through(gate, 'user', next, context);
    } finally {
      if (gate.running + gate.waiting === 0) this.byCredential.delete(credential);
    }
  }

  private async through(gate: Gate, by: RefusedBy, next: Handler, context: RequestContext): Promise<void> {
    const turn = gate.enter(context.response, context.waitedMs);
    const isIn = typeof turn === 'boolean' ? turn : await this.wait(turn, context);
    if (!isIn) return this.refuse(by, context);
    try {
      await next(context);
    } finally {
      gate.leave();
    }
  }

  private async wait(turn: Promise<boolean>, context: RequestContext): Promise<boolean> {
    const start = performance.now();
    const isIn = await turn;
    const ms = performance.now() - start;
    context.waitedMs += ms;
    this.options.observer?.waited(ms);
    return isIn;
  }

  private async watch(next: Handler, context: RequestContext): Promise<void> {
    if (this.watchCount >= (this.options.watches ?? Infinity)) return this.refuse('watches', context);
    this.watchCount += 1;
    try {
      await next(context);
    } finally {
      this.watchCount -= 1;
    }
  }

  /** Without an exception unless the client may want another form than JSON: one that passes the filters costs as much as the answer. */
  private async refuse(by: RefusedBy, context: RequestContext): Promise<void> {
    this.options.observer?.refused(by);
    const { error, body } = tooMany[by];
    const { accept } = context.request.headers;
    if (accept !== undefined && /problem|yaml/.test(accept)) throw error;
    await sendJson(context, error.code, body, { 'Retry-After': String(error.details?.retryAfterSeconds) });
  }
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
    const left = this.counts.get(user)! - 1;
    if (left === 0) this.counts.delete(user);
    else this.counts.set(user, left);
  }
}

function isWatch({ info }: RequestContext): boolean {
  return info.verb === 'watch' && info.isResourceRequest;
}
