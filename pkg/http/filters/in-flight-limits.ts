import type { ServerResponse } from 'node:http';
import { isStatusError, type StatusError } from '#pkg/apimachinery/index';
import { anonymousUser } from '#pkg/identity/index';
import { authorizationKey, type CredentialKey, type CredentialReader } from '../request/credential-key.ts';
import { networkOf } from '../connection/network-of.ts';
import type { Filter, Handler, RequestContext } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';
import { isAnswered, sendJson } from '../answer/respond.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';
import { HeldSlots, type Slot, type SlotsOwner } from './held-slots.ts';
import { KeyedConcurrencyLimiters } from './keyed-concurrency-limiters.ts';
import { refusals, type RefusedBy } from './limit-refusal.ts';
import { Senders, type SendersOptions } from './senders.ts';
import { VerifiedCredentials } from './verified-credentials.ts';
import { WrongCredentials } from './wrong-credentials.ts';

/** A limit left out is no limit; where both `total` and `perUser` are, anonymous clients have none either. */
export interface MaxInFlight {
  /** Requests under way at a time, watches only until their stream has begun; of anonymous clients a quarter of it. */
  total?: number;
  perUser?: number;
  watches?: number;
  watchesPerUser?: number;
  /**
   * How long a request above `total` or `perUser` may wait for another to end. Milliseconds, default 1000; 0 refuses at
   * once.
   */
  maxWaitMs?: number;
  /** Of one network; beyond it no credential is looked up that was not good before. */
  wrongCredentialsPerMinute?: number;
  /** Bodies that have not arrived yet. */
  senders?: Omit<SendersOptions, 'observer'>;
  /**
   * Which requests the limits above do not hold for, so that they work when nothing else does. Default: for all they
   * do.
   */
  exemption?: (info: RequestInfo) => Exemption | undefined;
  /** What tells the credential of a request from others. Default: its Authorization header. */
  credentialOf?: CredentialReader;
  /** Those that were good, also at another service that knows the same people. Default: of these requests alone. */
  verified?: VerifiedCredentials;
  /** Does an error of authentication say that the credential is wrong? Default: a StatusError 401 does. */
  isUnauthorized?: (error: unknown) => boolean;
  /** Throws what is refused, for whoever answers in words of their own, instead of answering it at once. */
  throwsRefusals?: boolean;
  observer?: InFlightObserver;
}

/**
 * From everything, for what looks at no credential; or, once one is looked up where one was sent, to slots of their
 * own (`metrics`), or from the rest (`open`).
 */
export type Exemption = 'everything' | 'metrics' | 'open';

/** Hears what the limits do; must not throw. */
export interface InFlightObserver {
  /** An answer says so; not for a client that has left. */
  refused(by: RefusedBy): void;
  /** A request had to wait, whether it was let in or not. */
  waited(ms: number): void;
}

/** Of readers of metrics, under way at a time. */
const maxOfMetrics = 64;
/** Of anonymous clients of one network, under way at a time; and as many whose credentials are looked up. */
const maxOfNetwork = 32;
/**
 * Of all anonymous clients, credentials looked up at a time: more would only wait for connections of the database, and the
 * credentials of those who are known with them.
 */
const maxLookups = 64;

/** One request between the two filters. */
interface Visit {
  readonly slots: HeldSlots;
  readonly credential: CredentialKey | undefined;
  readonly exemption: 'metrics' | 'open' | undefined;
  /** What its credential is remembered by. */
  readonly key: string | undefined;
  /** Its credential was good the last time. */
  readonly isKnown: boolean;
  /** It holds the slots that it works in, not those of looking up a credential. */
  holdsWorkSlots: boolean;
  isAuthenticated: boolean;
}

/**
 * Limits what is under way: 429 with Retry-After where a request has waited too long for others to end, and for a watch
 * too many at once.
 *
 * Two filters, as nobody's user is known before authentication. A request whose credential was good the last time takes
 * its slots in `beforeAuthentication`, next to others with that credential and then to all: what is refused there has
 * cost next to nothing. Of anybody else only the credential is looked up first, in a few slots of the client's
 * network; `afterAuthentication` then gives it those of its user, or those that anonymous clients have: none that they take is
 * missing to who is known. It counts users too, with all of their credentials, and refuses at once.
 *
 * No slot that is missing to others is held while a body is on its way or an answer is read (`HeldSlots`, `Senders`).
 * Both filters stand within `withTimeout`: a request that was answered by a time-out counts until its work has ended. A
 * watch is a request until its stream has begun, then only a watch.
 */
export class InFlightLimits implements SlotsOwner {
  private readonly options: MaxInFlight;
  private readonly credentialOf: CredentialReader;
  private readonly all: ConcurrencyLimiter | undefined;
  private readonly anonymous: ConcurrencyLimiter | undefined;
  private readonly lookups: ConcurrencyLimiter;
  private readonly metrics = new ConcurrencyLimiter({ limit: maxOfMetrics, maxWaitMs: 0 });
  private readonly byCredential: KeyedConcurrencyLimiters | undefined;
  private readonly byNetwork: KeyedConcurrencyLimiters | undefined;
  private readonly lookupsByNetwork: KeyedConcurrencyLimiters;
  readonly senders: Senders;
  private readonly verified: VerifiedCredentials;
  private readonly wrong: WrongCredentials | undefined;
  private readonly visits = new Map<RequestContext, Visit>();
  private readonly requestsByUser: KeyedConcurrencyLimiters;
  private readonly watchesByUser: KeyedConcurrencyLimiters;
  private watchCount = 0;

  constructor(options: MaxInFlight) {
    const {
      total,
      perUser,
      maxWaitMs = 1000,
      wrongCredentialsPerMinute,
      credentialOf = authorizationKey,
      verified = new VerifiedCredentials(),
      observer,
    } = options;
    this.options = options;
    this.credentialOf = credentialOf;
    this.verified = verified;
    this.requestsByUser = new KeyedConcurrencyLimiters({ limit: perUser ?? Infinity, maxWaitMs: 0 });
    this.watchesByUser = new KeyedConcurrencyLimiters({ limit: options.watchesPerUser ?? Infinity, maxWaitMs: 0 });
    this.senders = new Senders({ ...options.senders, ...(observer === undefined ? {} : { observer }) });
    this.lookups = new ConcurrencyLimiter({ limit: maxLookups, maxWaitMs });
    this.lookupsByNetwork = new KeyedConcurrencyLimiters({ limit: maxOfNetwork, maxWaitMs });
    if (total !== undefined) this.all = new ConcurrencyLimiter({ limit: total, maxWaitMs });
    const anonymousLimit = Math.max(1, Math.floor((total ?? 0) / 4));
    if (total !== undefined && anonymousLimit < total)
      this.anonymous = new ConcurrencyLimiter({ limit: anonymousLimit, maxWaitMs });
    if (perUser !== undefined) this.byCredential = new KeyedConcurrencyLimiters({ limit: perUser, maxWaitMs });
    if (total !== undefined || perUser !== undefined)
      this.byNetwork = new KeyedConcurrencyLimiters({ limit: maxOfNetwork, maxWaitMs });
    if (wrongCredentialsPerMinute !== undefined) this.wrong = new WrongCredentials(wrongCredentialsPerMinute);
  }

  /** Requests that wait for others to end. */
  get waiting(): number {
    const limiters = [this.all, this.anonymous, this.lookups, this.byCredential, this.byNetwork, this.lookupsByNetwork];
    return limiters.reduce((sum, limiter) => sum + (limiter?.waiting ?? 0), 0);
  }

  /** Requests under way, watches not counted that have begun, nor bodies on their way; 0 where there is no limit. */
  get running(): number {
    return this.all?.running ?? 0;
  }

  /** For HeldSlots. */
  waited(ms: number): void {
    this.options.observer?.waited(ms);
  }

  /** For HeldSlots. */
  refusalOf(by: RefusedBy, { response }: RequestContext): StatusError {
    if (!isAnswered(response)) this.options.observer?.refused(by);
    return refusals[by].error;
  }

  readonly beforeAuthentication: Filter = (next) => (context) => {
    const exemption = this.options.exemption?.(context.info);
    return exemption === 'everything' ? next(context) : this.visit(next, context, exemption);
  };

  readonly afterAuthentication: Filter = (next) => async (context) => {
    const visit = this.visits.get(context);
    if (visit === undefined) return next(context);
    const { name, uid } = context.impersonator ?? context.user;
    const isAnonymous = name === anonymousUser.name;
    visit.isAuthenticated = true;
    visit.slots.isAnonymous = isAnonymous;
    if (!isAnonymous && visit.key !== undefined) this.verified.add(visit.key, uid === '' ? name : uid);
    // A session that is over is no failure where nobody need be known.
    if (isAnonymous) this.noteWrong(visit, context);
    if (!visit.holdsWorkSlots) {
      visit.slots.leave();
      visit.holdsWorkSlots = true;
      const refused = await this.enter(visit, this.slotsOf(visit, context, isAnonymous));
      if (refused !== undefined) return this.refuse(refused, context);
    }
    if (visit.exemption !== undefined) return next(context);
    if (isWatch(context)) return this.watch(next, context, { slots: visit.slots, isAnonymous });
    // Anonymous clients are counted by their network, and not while they send.
    if (
      !isAnonymous &&
      visit.slots.enter({
        limiter: this.requestsByUser.of(context.user.name),
        by: 'user',
        isKept: true,
        isOwn: true,
      }) !== true
    )
      return this.refuse('user', context);
    return next(context);
  };

  private async visit(next: Handler, context: RequestContext, exemption: Visit['exemption']): Promise<void> {
    const visit = this.newVisit(context, exemption);
    this.visits.set(context, visit);
    context.bodyTurn = visit.slots;
    try {
      const refused = await this.enter(
        visit,
        visit.holdsWorkSlots ? this.slotsOf(visit, context, false) : this.lookupSlotsOf(visit, context),
      );
      if (refused !== undefined) return await this.refuse(refused, context);
      await next(context);
    } catch (error) {
      if (!visit.isAuthenticated && context.user.name === anonymousUser.name && this.isUnauthorized(error))
        this.noteWrong(visit, context);
      throw error;
    } finally {
      this.visits.delete(context);
      visit.slots.end();
    }
  }

  private newVisit(context: RequestContext, exemption: Visit['exemption']): Visit {
    const credential = this.credentialOf(context.request.headers);
    const key =
      credential?.isPublic === true ? `${credential.key} ${networkOf(context.clientAddress)}` : credential?.key;
    const isKnown = key !== undefined && this.verified.has(key);
    const slots = new HeldSlots(context, this);
    slots.isAnonymous = !isKnown;
    // Whose name only is known, as a signature's, is yet to be believed.
    return {
      slots,
      credential,
      exemption,
      key,
      isKnown,
      holdsWorkSlots: isKnown && !credential!.isPublic,
      isAuthenticated: false,
    };
  }

  /**
   * Where the credential is looked up of who is not known, none where none is: the name of a known key has slots of
   * its own.
   */
  private *lookupSlotsOf({ credential, key, isKnown }: Visit, context: RequestContext): Generator<Slot | RefusedBy> {
    if (credential === undefined) return;
    const network = networkOf(context.clientAddress);
    if (isKnown) {
      yield { limiter: this.lookupsByNetwork.of(key!), by: 'address' };
    } else if (this.wrong?.isOver(network) === true) {
      yield 'wrong_credentials';
    } else {
      yield { limiter: this.lookupsByNetwork.of(network), by: 'address' };
      yield { limiter: this.lookups, by: 'strangers' };
    }
  }

  /** Those of a user are kept while a body is on its way: slow bodies of one user hold up nobody else. */
  private *slotsOf({ exemption, key }: Visit, context: RequestContext, isAnonymous: boolean): Generator<Slot> {
    if (exemption === 'metrics') yield { limiter: this.metrics, by: 'metrics' };
    if (exemption !== undefined) return;
    if (!isAnonymous && this.byCredential !== undefined)
      yield { limiter: this.byCredential.of(key ?? context.user.name), by: 'user', isKept: true, isOwn: true };
    if (isAnonymous && this.byNetwork !== undefined)
      yield { limiter: this.byNetwork.of(networkOf(context.clientAddress)), by: 'address', isOwn: true };
    // First for all, so that who is refused by their own share hears so.
    if (isAnonymous && this.anonymous !== undefined) yield { limiter: this.anonymous, by: 'strangers' };
    if (this.all !== undefined) yield { limiter: this.all, by: 'total' };
  }

  /** Takes them one after the other; by which it was refused, if it was. */
  private async enter({ slots }: Visit, wanted: Iterable<Slot | RefusedBy>): Promise<RefusedBy | undefined> {
    for (const each of wanted) {
      if (typeof each === 'string') return each;
      const isIn = slots.enter(each);
      if (isIn !== true && !(await isIn)) return each.by;
    }
    return undefined;
  }

  /** Its slots as a request are free again when its stream has begun. */
  private async watch(
    next: Handler,
    context: RequestContext,
    { slots, isAnonymous }: { slots: HeldSlots; isAnonymous: boolean },
  ): Promise<void> {
    if (this.watchCount >= (this.options.watches ?? Infinity)) return this.refuse('watches', context);
    const user = isAnonymous ? `anonymous:${networkOf(context.clientAddress)}` : context.user.name;
    const slot = this.watchesByUser.of(user);
    if (slot.enter(context.response) !== true) return this.refuse('user_watches', context);
    this.watchCount += 1;
    onBegin(context.response, () => slots.release());
    try {
      await next(context);
    } finally {
      slot.leave();
      this.watchCount -= 1;
    }
  }

  private noteWrong({ credential, key, isKnown }: Visit, context: RequestContext): void {
    if (credential === undefined) return;
    // Whoever knows the name of a key could otherwise take its slots away.
    if (!isKnown) this.wrong?.add(networkOf(context.clientAddress));
    else if (!credential.isPublic) this.verified.delete(key!);
  }

  private isUnauthorized(error: unknown): boolean {
    return this.options.isUnauthorized?.(error) ?? (isStatusError(error) && error.code === 401);
  }

  /**
   * Without an exception unless the client may want another form than JSON: one that passes the filters costs as much
   * as the answer.
   */
  private async refuse(by: RefusedBy, context: RequestContext): Promise<void> {
    if (isAnswered(context.response)) return;
    this.options.observer?.refused(by);
    const { error, body } = refusals[by];
    const { accept } = context.request.headers;
    if (this.options.throwsRefusals === true || (accept !== undefined && /problem|yaml/.test(accept))) throw error;
    await sendJson(context, error.code, body, { 'Retry-After': String(error.details?.retryAfterSeconds) });
  }
}

/** When the answer's head is written, by whichever means: each of them calls `writeHead`, and no event tells. */
function onBegin(response: ServerResponse, begun: () => void): void {
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
  response.writeHead = (...args: unknown[]) => {
    begun();
    return writeHead(...args);
  };
}

function isWatch({ info }: RequestContext): boolean {
  return info.verb === 'watch' && info.isResourceRequest;
}
