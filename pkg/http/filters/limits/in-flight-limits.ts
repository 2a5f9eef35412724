import { isStatusError, type StatusError } from '#pkg/apimachinery/index';
import { anonymousUser } from '#pkg/identity/index';
import { authorizationKey, type CredentialKey, type CredentialReader } from '../../request/credential-key.ts';
import { networkOf } from '../../connection/client-address.ts';
import type { Filter, Handler, RequestContext, WatchSlots } from '../../request/request-context.ts';
import type { RequestInfo } from '../../request/request-info.ts';
import { onBegin } from '../../answer/on-begin.ts';
import { isAnswered, sendJson } from '../../answer/respond.ts';
import { ConcurrencyLimiter, KeyedConcurrencyLimiters } from './concurrency-limiter.ts';
import { HeldSlots, type Slot, type SlotsOwner } from './held-slots.ts';
import { refusals, type RefusedBy } from './limit-refusal.ts';
import type { PriorityLevel } from './priority-level.ts';
import { Senders, type SendersOptions } from './senders.ts';
import { VerifiedCredentials, type CredentialOwner } from './verified-credentials.ts';
import { LocalWatchCounter, type CountedWatch, type WatchCounter, type WatchLimits } from './watch-counter.ts';
import { partOf, WorkSlots, type WorkSlotsOptions } from './work-slots.ts';
import { WrongCredentials } from './wrong-credentials.ts';

/** No value: no limit. Without `total` and `perUser` anonymous clients have no limit either. */
export interface MaxInFlight extends WorkSlotsOptions, WatchLimits {
  /** Counts the watches. Default: those of this process. */
  watchCounter?: WatchCounter;
  /** Limit of one network. Above it the server looks up no credential that was not valid before. */
  wrongCredentialsPerMinute?: number;
  /** Limits of request bodies that are still arriving. */
  senders?: Omit<SendersOptions, 'observer'>;
  /**
   * Which requests are exempt from the limits above, so that they are served during an overload. Default: none.
   */
  exemption?: (info: RequestInfo) => Exemption | undefined;
  /** The groups whose members have the priority level `system` for all their requests. Default: none. */
  systemGroups?: readonly string[];
  /** The identity of a request's credential. Default: its Authorization header. */
  credentialOf?: CredentialReader;
  /** Credentials that were valid. Two services with the same users may share it. Default: one of its own. */
  verified?: VerifiedCredentials;
  /** Whether an authentication error means that the credential is wrong. Default: a StatusError 401 does. */
  isUnauthorized?: (error: unknown) => boolean;
  /** Throws refusals instead of answering them, for a caller that has its own error format. */
  throwsRefusals?: boolean;
  observer?: InFlightObserver;
}

/**
 * `everything`: no limit at all, for paths that read no credential. `metrics` and `open`: only looking up a credential
 * is limited; after that `metrics` has slots of its own, and `open` needs none.
 */
export type Exemption = 'everything' | 'metrics' | 'open';

/** Called for what the limits do; must not throw. */
export interface InFlightObserver {
  /** A request was refused; not called for a client that has disconnected. */
  refused(by: RefusedBy): void;
  /** A request had to wait, whether it got a slot or not. */
  waited(ms: number): void;
}

/** Credential lookups of one network at a time. */
const maxOfNetwork = 32;
/**
 * Credential lookups of all anonymous clients at a time. More would only wait for database connections, and make known
 * clients wait with them.
 */
const maxLookups = 64;

/** State of one request between the two filters. */
interface Visit {
  readonly slots: HeldSlots;
  readonly credential: CredentialKey | undefined;
  readonly exemption: 'metrics' | 'open' | undefined;
  /** The key under which its credential is remembered. */
  readonly key: string | undefined;
  /** The owner of its credential, if that was valid the last time. */
  readonly owner: CredentialOwner | undefined;
  /** Whether it holds the slots for its work; false while it holds the slots for a credential lookup. */
  holdsWorkSlots: boolean;
  isAuthenticated: boolean;
}

/**
 * Limits concurrent requests. Answers 429 with Retry-After if a request has waited too long for a slot, or if there are
 * too many watches.
 *
 * There are two filters, because the user is unknown before authentication. A request whose credential was valid the
 * last time takes its slots in `beforeAuthentication`, first the one of its user and then one of its level, so
 * that a refusal costs next to nothing. Any other request takes one of the few lookup slots of its network, and
 * `afterAuthentication` moves it to the slots of its user, or to those of anonymous clients, which take none from known
 * clients. `afterAuthentication` also counts the requests by the user that they act as, and refuses without a wait.
 *
 * A request holds no shared slot while its body arrives or the client reads the response (`HeldSlots`, `Senders`). Both
 * filters run inside `withTimeout`: a request that was answered by a timeout counts until its work ends. A watch counts
 * as a request until its stream begins, and only as a watch afterwards.
 */
export class InFlightLimits implements SlotsOwner {
  readonly #options: MaxInFlight;
  readonly #credentialOf: CredentialReader;
  readonly #systemGroups: ReadonlySet<string>;
  readonly #work: WorkSlots;
  readonly #lookups: ConcurrencyLimiter;
  readonly #lookupsByNetwork: KeyedConcurrencyLimiters;
  readonly senders: Senders;
  readonly #verified: VerifiedCredentials;
  readonly #wrong: WrongCredentials | undefined;
  readonly #visits = new Map<RequestContext, Visit>();
  readonly #requestsByUser: KeyedConcurrencyLimiters;
  readonly #watches: WatchCounter;

  constructor(options: MaxInFlight) {
    const {
      perUser,
      maxWaitMs = 1000,
      systemGroups = [],
      wrongCredentialsPerMinute,
      credentialOf = authorizationKey,
      verified = new VerifiedCredentials(),
      watchCounter = new LocalWatchCounter(),
      processes = 1,
      observer,
    } = options;
    this.#options = options;
    this.#credentialOf = credentialOf;
    this.#systemGroups = new Set(systemGroups);
    this.#verified = verified;
    this.#work = new WorkSlots(options);
    this.#requestsByUser = new KeyedConcurrencyLimiters({ limit: perUser ?? Infinity, maxWaitMs: 0 });
    this.#watches = watchCounter;
    this.senders = new Senders({ ...options.senders, ...(observer === undefined ? {} : { observer }) });
    this.#lookups = new ConcurrencyLimiter({ limit: partOf(maxLookups, 1 / processes), maxWaitMs });
    this.#lookupsByNetwork = new KeyedConcurrencyLimiters({ limit: partOf(maxOfNetwork, 1 / processes), maxWaitMs });
    if (wrongCredentialsPerMinute !== undefined) this.#wrong = new WrongCredentials(wrongCredentialsPerMinute);
  }

  /** Requests that wait for a slot. */
  get waiting(): number {
    return this.#work.waiting + this.#lookups.waiting + this.#lookupsByNetwork.waiting;
  }

  /** Running requests without started watches and arriving bodies; 0 without a limit. */
  get running(): number {
    return this.#work.running;
  }

  /** Of these, the requests of one priority level. */
  runningOf(level: PriorityLevel): number {
    return this.#work.runningOf(level);
  }

  /** For HeldSlots. */
  waited(ms: number): void {
    this.#options.observer?.waited(ms);
  }

  /** For HeldSlots. */
  refusalOf(by: RefusedBy, { response }: RequestContext): StatusError {
    if (!isAnswered(response)) this.#options.observer?.refused(by);
    return refusals[by].error;
  }

  readonly beforeAuthentication: Filter = (next) => (context) => {
    const exemption = this.#options.exemption?.(context.info);
    return exemption === 'everything' ? next(context) : this.#visit(next, context, exemption);
  };

  readonly afterAuthentication: Filter = (next) => async (context) => {
    const visit = this.#visits.get(context);
    if (visit === undefined) return next(context);
    const { name, uid, groups } = context.impersonator ?? context.user;
    const isAnonymous = name === anonymousUser.name;
    visit.isAuthenticated = true;
    visit.slots.isAnonymous = isAnonymous;
    const owner = { id: uid === '' ? name : uid, isSystem: this.#isSystem(groups) };
    if (!isAnonymous && visit.key !== undefined)
      this.#verified.add(visit.key, owner.id, this.#systemGroups.size === 0 ? undefined : owner.isSystem);
    // An expired session is no failure on a path that needs no user.
    if (isAnonymous) this.#noteWrong(visit, context);
    if (!visit.holdsWorkSlots) {
      visit.slots.leave();
      visit.holdsWorkSlots = true;
      const refused = await this.#enter(visit.slots, this.#slotsOf(visit, context, isAnonymous ? undefined : owner));
      if (refused !== undefined) return this.#refuse(refused, context);
    }
    if (visit.exemption !== undefined) return next(context);
    if (isWatch(context)) return this.#watch(next, context, { slots: visit.slots, isAnonymous });
    // Anonymous clients are counted by network, and not while their bodies arrive.
    if (
      !isAnonymous &&
      visit.slots.enter({
        limiter: this.#requestsByUser.of(context.user.name),
        by: 'user',
        isKept: true,
        isOwn: true,
      }) !== true
    )
      return this.#refuse('user', context);
    return next(context);
  };

  /**
   * For a request that this server does not authenticate, because another one answers it: it takes the slots of an
   * anonymous client, whatever credential it has.
   */
  readonly withoutAuthentication: Filter = (next) => async (context) => {
    const slots = new HeldSlots(context, this);
    context.heldSlots = slots;
    try {
      const refused = await this.#enter(slots, this.#work.of(context, undefined));
      if (refused !== undefined) return await this.#refuse(refused, context);
      await next(context);
    } finally {
      slots.end();
    }
  };

  async #visit(next: Handler, context: RequestContext, exemption: Visit['exemption']): Promise<void> {
    const visit = this.#newVisit(context, exemption);
    this.#visits.set(context, visit);
    context.heldSlots = visit.slots;
    try {
      const refused = await this.#enter(
        visit.slots,
        visit.holdsWorkSlots ? this.#slotsOf(visit, context, visit.owner) : this.#lookupSlotsOf(visit, context),
      );
      if (refused !== undefined) return await this.#refuse(refused, context);
      await next(context);
    } catch (error) {
      if (!visit.isAuthenticated && context.user.name === anonymousUser.name && this.#isUnauthorized(error))
        this.#noteWrong(visit, context);
      throw error;
    } finally {
      this.#visits.delete(context);
      visit.slots.end();
    }
  }

  #newVisit(context: RequestContext, exemption: Visit['exemption']): Visit {
    const credential = this.#credentialOf(context.request.headers);
    const key =
      credential?.isPublic === true ? `${credential.key} ${networkOf(context.clientAddress)}` : credential?.key;
    const owner = key === undefined ? undefined : this.#verified.ownerOf(key);
    const slots = new HeldSlots(context, this);
    slots.isAnonymous = owner === undefined;
    // A public key id, as that of a signature, proves nothing before the signature is verified.
    return {
      slots,
      credential,
      exemption,
      key,
      owner,
      holdsWorkSlots: owner !== undefined && !credential!.isPublic,
      isAuthenticated: false,
    };
  }

  /**
   * The slots for looking up a credential; none without a credential. A known public key id has slots of its own.
   */
  *#lookupSlotsOf({ credential, key, owner }: Visit, context: RequestContext): Generator<Slot | RefusedBy> {
    if (credential === undefined) return;
    const network = networkOf(context.clientAddress);
    if (owner !== undefined) {
      yield { limiter: this.#lookupsByNetwork.of(key!), by: 'address' };
    } else if (this.#wrong?.isOver(network) === true) {
      yield 'wrong_credentials';
    } else {
      yield { limiter: this.#lookupsByNetwork.of(network), by: 'address' };
      yield { limiter: this.#lookups, by: 'strangers', flow: network };
    }
  }

  /** The slots for its work; none if it is exempt. */
  #slotsOf({ exemption }: Visit, context: RequestContext, owner: CredentialOwner | undefined): Iterable<Slot> {
    if (exemption === 'open') return [];
    return exemption === 'metrics' ? this.#work.ofMetrics() : this.#work.of(context, owner);
  }

  #isSystem(groups: readonly string[]): boolean {
    return this.#systemGroups.size > 0 && groups.some((group) => this.#systemGroups.has(group));
  }

  /** Takes the slots one after the other. Answers the limit that refused one, if any. */
  async #enter(slots: HeldSlots, wanted: Iterable<Slot | RefusedBy>): Promise<RefusedBy | undefined> {
    for (const each of wanted) {
      if (typeof each === 'string') return each;
      const isIn = slots.enter(each);
      if (isIn !== true && !(await isIn)) return each.by;
    }
    return undefined;
  }

  /** A watch frees its request slots when its stream begins. */
  async #watch(
    next: Handler,
    context: RequestContext,
    { slots, isAnonymous }: { slots: HeldSlots; isAnonymous: boolean },
  ): Promise<void> {
    const counted = await this.#countWatch(context, isAnonymous);
    if (typeof counted === 'string') return this.#refuse(counted, context);
    onBegin(context.response, () => slots.release());
    try {
      await next(context);
    } finally {
      counted();
    }
  }

  #countWatch(context: RequestContext, isAnonymous: boolean): CountedWatch | Promise<CountedWatch> {
    const user = isAnonymous ? `anonymous:${networkOf(context.clientAddress)}` : context.user.name;
    return this.#watches.enter(user, this.#options);
  }

  /** For HeldSlots. */
  async slotsOfWatch(context: RequestContext, watch: RequestContext): Promise<WatchSlots> {
    const { name, uid, groups } = context.impersonator ?? context.user;
    const owner =
      name === anonymousUser.name ? undefined : { id: uid === '' ? name : uid, isSystem: this.#isSystem(groups) };
    const slots = new HeldSlots(watch, this);
    let refused = await this.#enter(slots, this.#work.of(watch, owner));
    if (refused === undefined) {
      const counted = await this.#countWatch(watch, owner === undefined);
      if (typeof counted !== 'string') return new SlotsOfWatch(slots, counted);
      refused = counted;
    }
    slots.release();
    this.#options.observer?.refused(refused);
    throw refusals[refused].error;
  }

  #noteWrong({ credential, key, owner }: Visit, context: RequestContext): void {
    if (credential === undefined) return;
    // Otherwise an attacker who knows a public key id could take the slots of its owner.
    if (owner === undefined) this.#wrong?.add(networkOf(context.clientAddress));
    else if (!credential.isPublic) this.#verified.delete(key!);
  }

  #isUnauthorized(error: unknown): boolean {
    return this.#options.isUnauthorized?.(error) ?? (isStatusError(error) && error.code === 401);
  }

  /**
   * Throws only if the client may want another format than JSON: an exception that passes the filters costs as much as
   * the response.
   */
  async #refuse(by: RefusedBy, context: RequestContext): Promise<void> {
    if (isAnswered(context.response)) return;
    this.#options.observer?.refused(by);
    const { error, body } = refusals[by];
    const { accept } = context.request.headers;
    if (this.#options.throwsRefusals === true || (accept !== undefined && /problem|yaml/.test(accept))) throw error;
    await sendJson(context, error.code, body, { 'Retry-After': String(error.details?.retryAfterSeconds) });
  }
}

class SlotsOfWatch implements WatchSlots {
  readonly #slots: HeldSlots;
  readonly #uncount: () => void;
  #isOver = false;

  constructor(slots: HeldSlots, uncount: () => void) {
    this.#slots = slots;
    this.#uncount = uncount;
  }

  begun(): void {
    this.#slots.release();
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#slots.release();
    this.#uncount();
  }
}

function isWatch({ info }: RequestContext): boolean {
  return info.verb === 'watch' && info.isResourceRequest;
}
