import type { ServerResponse } from 'node:http';
import { newTooManyRequests, type StatusError } from '#pkg/apimachinery/index';
import { anonymousUser } from '#pkg/identity/index';
import type { Filter, Handler, RequestContext } from '../request-context.ts';
import type { RequestInfo } from '../request-info.ts';
import { isAnswered, sendJson } from '../respond.ts';
import { Gate } from './gate.ts';
import { UserCounter } from './user-counter.ts';
import { VerifiedCredentials } from './verified-credentials.ts';

/** A limit left out is no limit. */
export interface MaxInFlight {
  /** Requests under way at a time, watches only until their stream has begun. */
  total?: number;
  perUser?: number;
  watches?: number;
  watchesPerUser?: number;
  /** How long a request above `total` or `perUser` may wait for another to end. Milliseconds, default 1000; 0 refuses at once. */
  maxWaitMs?: number;
  /** Which requests the limits above do not hold for, so that they work when nothing else does. Default: for all they do. */
  exemption?: (info: RequestInfo) => Exemption | undefined;
  /** Throws what is refused, for whoever answers in words of their own, instead of answering it at once. */
  throwsRefusals?: boolean;
  observer?: InFlightObserver;
}

/** From everything, or to places of their own: a name for those who share them. */
export type Exemption = 'everything' | 'probes' | 'metrics';

export type RefusedBy = 'total' | 'user' | 'address' | 'watches' | 'user_watches' | 'probes' | 'metrics';

/** Hears what the limits do; must not throw. */
export interface InFlightObserver {
  /** An answer says so; not for a client that has left. */
  refused(by: RefusedBy): void;
  /** A request had to wait, whether it was let in or not. */
  waited(ms: number): void;
}

/** Of requests that have places of their own, under way at a time. */
const maxExempt = 64;

/** Of one address, with a credential that was not good a moment ago or with none: enough to look tokens up, too little to hold anybody up by inventing them. */
const maxUnverified = 32;

// Made once: under overload each costs more than the rest of the answer.
const tooMany: Readonly<Record<RefusedBy, Refusal>> = {
  total: newRefusal('too many requests, please try again later'),
  user: newRefusal('too many requests of one user, please try again later'),
  address: newRefusal('too many requests of one address, please try again later'),
  watches: newRefusal('too many watches, please try again later'),
  user_watches: newRefusal('too many watches of one user, please try again later'),
  probes: newRefusal('too many health checks, please try again later'),
  metrics: newRefusal('too many readers of metrics, please try again later'),
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
 * Two filters, as nobody's user is known before `withAuthentication`. `beforeAuthentication` lets requests of one credential wait for each other, and
 * then for all others: what it refuses has cost next to nothing, and its body was not read. A credential that was not good within the last minute may be invented:
 * those of an address share a few places. `perUser` counts those of all credentials of a user together, and refuses at once. Both stand within
 * `withTimeout`: a request that was answered by a time-out counts until its work has ended. A watch is a request until its stream has begun, then only a watch.
 */
export class InFlightLimits {
  private readonly options: MaxInFlight;
  private readonly maxWaitMs: number;
  private readonly all: Gate | undefined;
  private readonly exempt = { probes: new Gate({ limit: maxExempt, maxWaitMs: 0 }), metrics: new Gate({ limit: maxExempt, maxWaitMs: 0 }) };
  /** By the hash of a verified credential, else by address. */
  private readonly byOrigin = new Map<string, Gate>();
  private readonly verified = new VerifiedCredentials();
  /** Hashes of credentials on their way to be authenticated. */
  private readonly unverified = new Map<RequestContext, string>();
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
    for (const gate of this.byOrigin.values()) waiting += gate.waiting;
    return waiting;
  }

  /** Requests under way, watches not counted that have begun; 0 where there is no limit. */
  get running(): number {
    return this.all?.running ?? 0;
  }

  readonly beforeAuthentication: Filter = (next) => (context) => {
    const exemption = this.options.exemption?.(context.info);
    if (exemption === 'everything') return next(context);
    if (exemption !== undefined) return this.through(this.exempt[exemption], exemption, next, context);
    return isWatch(context) ? this.watch(next, context) : this.request(next, context);
  };

  readonly perUser: Filter = (next) => async (context) => {
    if (this.options.exemption?.(context.info) !== undefined) return next(context);
    const isAnonymous = context.user.name === anonymousUser.name;
    const credential = this.unverified.get(context);
    if (credential !== undefined && !isAnonymous) this.verified.add(credential);
    const [counter, refusal]: [UserCounter, RefusedBy] = isWatch(context) ? [this.watches, 'user_watches'] : [this.requests, 'user'];
    const user = isAnonymous ? `anonymous:${context.request.socket.remoteAddress}` : context.user.name;
    if (!counter.add(user)) return this.refuse(refusal, context);
    try {
      await next(context);
    } finally {
      counter.remove(user);
    }
  };

  private request(next: Handler, context: RequestContext): Promise<void> {
    const ofAll: Handler = this.all === undefined ? next : (each) => this.through(this.all!, 'total', next, each);
    return this.options.perUser === undefined ? ofAll(context) : this.ofOrigin(this.options.perUser, ofAll, context);
  }

  private ofOrigin(perUser: number, next: Handler, context: RequestContext): Promise<void> {
    const { authorization } = context.request.headers;
    const credential = authorization === undefined ? undefined : VerifiedCredentials.hashOf(authorization);
    if (credential !== undefined && this.verified.has(credential)) return this.ofVerified(credential, perUser, next, context);
    return this.ofAddress(credential, next, context);
  }

  private async ofVerified(credential: string, perUser: number, next: Handler, context: RequestContext): Promise<void> {
    try {
      await this.throughGateOf(credential, { limit: perUser, by: 'user' }, next, context);
    } finally {
      if (context.user.name !== anonymousUser.name) this.verified.add(credential);
    }
  }

  private async ofAddress(credential: string | undefined, next: Handler, context: RequestContext): Promise<void> {
    if (credential !== undefined) this.unverified.set(context, credential);
    try {
      await this.throughGateOf(context.request.socket.remoteAddress ?? '', { limit: maxUnverified, by: 'address' }, next, context);
    } finally {
      this.unverified.delete(context);
    }
  }

  private async throughGateOf(origin: string, { limit, by }: { limit: number; by: RefusedBy }, next: Handler, context: RequestContext): Promise<void> {
    let gate = this.byOrigin.get(origin);
    if (gate === undefined) this.byOrigin.set(origin, (gate = new Gate({ limit, maxWaitMs: this.maxWaitMs })));
    try {
      await this.through(gate, by, next, context);
    } finally {
      // Another may have taken its place while this request was refused.
      if (gate.running + gate.waiting === 0 && this.byOrigin.get(origin) === gate) this.byOrigin.delete(origin);
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

  /** Its places as a request are free again when its stream has begun, or it ended before. */
  private async watch(next: Handler, context: RequestContext): Promise<void> {
    let ended: Promise<void> | undefined;
    await this.request((each) => {
      const hasBegun = begun(each.response);
      ended = this.keepWatch(next, each);
      return Promise.race([hasBegun, ended]);
    }, context);
    await ended;
  }

  private async keepWatch(next: Handler, context: RequestContext): Promise<void> {
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
    if (isAnswered(context.response)) return;
    this.options.observer?.refused(by);
    const { error, body } = tooMany[by];
    const { accept } = context.request.headers;
    if (this.options.throwsRefusals === true || (accept !== undefined && /problem|yaml/.test(accept))) throw error;
    await sendJson(context, error.code, body, { 'Retry-After': String(error.details?.retryAfterSeconds) });
  }
}

/** Resolves when the answer's head is written, by whichever means: each of them calls `writeHead`, and no event tells. */
function begun(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
    response.writeHead = (...args: unknown[]) => {
      resolve();
      return writeHead(...args);
    };
  });
}

function isWatch({ info }: RequestContext): boolean {
  return info.verb === 'watch' && info.isResourceRequest;
}
