import { networkOf } from '../../connection/client-address.ts';
import type { RequestContext } from '../../request/request-context.ts';
import { ConcurrencyLimiter, KeyedConcurrencyLimiters } from './concurrency-limiter.ts';
import type { Slot } from './held-slots.ts';
import { levelOfBody, type LevelReader, type PriorityLevel } from './priority-level.ts';
import { PriorityLevels } from './priority-levels.ts';
import { UserActivity } from './user-activity.ts';
import type { CredentialOwner } from './verified-credentials.ts';

/** No value: no limit. */
export interface WorkSlotsOptions {
  /** Requests that run at a time, of which anonymous clients get a quarter. A watch counts until its stream begins. */
  total?: number;
  /** Slots of `total` that only the priority level `system` uses; a quarter of it at most. Default 0. */
  reserved?: number;
  /** Requests of the priority level `bulk` that run at a time; a quarter of `total` at most. */
  bulk?: number;
  /** Requests of one user that run at a time, while no other user asks for anything; a quarter of it while others do. */
  perUser?: number;
  /**
   * How long a request above these limits may wait for another to end. Milliseconds, default 1000; 0 refuses at once.
   */
  maxWaitMs?: number;
  /** The priority level of a request. Default: large bodies are `bulk`. */
  levelOf?: LevelReader;
  /**
   * Processes that share the limits of a server, where the others given here are those of one: divides the limits that
   * are fixed. Default 1.
   */
  processes?: number;
}

/** Requests for metrics that run at a time. */
const maxOfMetrics = 64;
/** Requests of anonymous clients of one network at a time. */
const maxOfNetwork = 32;
/** How much of the level `bulk` one user gets, so that others need not wait for the end of its requests. */
const bulkShareOfUser = 3 / 4;
/** How much of its limits a user gets while others ask, too: they wait for all that was admitted before. */
const shareBesideOthers = 1 / 4;
/** How much of the share of `system` one user gets who does not belong to the system, for leases. */
const systemShareOfUser = 1 / 4;
/** The flow of all anonymous clients together, in which they wait for slots of a level. No user has this id. */
const anonymousFlow = ' anonymous';

/** How many of `total` concurrent requests may be of anonymous clients. */
export function anonymousShare(total: number): number {
  return partOf(total, 1 / 4);
}

/** The limiters from which a request takes slots for its work: those of its user or network, then its level's. */
export class WorkSlots {
  readonly #levelOf: LevelReader;
  readonly #activity = new UserActivity();
  readonly #levels: PriorityLevels | undefined;
  readonly #metrics: ConcurrencyLimiter;
  readonly #byUser: KeyedConcurrencyLimiters | undefined;
  readonly #bulkByUser: KeyedConcurrencyLimiters | undefined;
  readonly #systemByUser: KeyedConcurrencyLimiters | undefined;
  readonly #byNetwork: KeyedConcurrencyLimiters | undefined;
  readonly #anonymous: ConcurrencyLimiter | undefined;
  readonly #anonymousBulk: ConcurrencyLimiter | undefined;

  constructor({
    total,
    reserved = 0,
    bulk,
    perUser,
    maxWaitMs = 1000,
    levelOf = levelOfBody,
    processes = 1,
  }: WorkSlotsOptions) {
    this.#levelOf = levelOf;
    this.#metrics = new ConcurrencyLimiter({ limit: partOf(maxOfMetrics, 1 / processes), maxWaitMs: 0 });
    const ofUser =
      (limit: number) =>
      (user: string): number =>
        this.#activity.isAlone(user) ? limit : partOf(limit, shareBesideOthers);
    if (perUser !== undefined) this.#byUser = new KeyedConcurrencyLimiters({ limit: ofUser(perUser), maxWaitMs });
    if (total !== undefined || perUser !== undefined)
      this.#byNetwork = new KeyedConcurrencyLimiters({ limit: partOf(maxOfNetwork, 1 / processes), maxWaitMs });
    if (total !== undefined && anonymousShare(total) < total)
      this.#anonymous = new ConcurrencyLimiter({ limit: anonymousShare(total), maxWaitMs });
    if (total === undefined && bulk === undefined) return;
    const levels = new PriorityLevels({ total: total ?? Infinity, reserved, bulk, maxWaitMs });
    this.#levels = levels;
    if (bulk !== undefined) {
      const { max } = levels.of('bulk');
      this.#bulkByUser = new KeyedConcurrencyLimiters({ limit: ofUser(partOf(max, bulkShareOfUser)), maxWaitMs });
      this.#anonymousBulk = new ConcurrencyLimiter({ limit: anonymousShare(max), maxWaitMs });
    }
    const { share } = levels.of('system');
    if (share > 0)
      this.#systemByUser = new KeyedConcurrencyLimiters({ limit: partOf(share, systemShareOfUser), maxWaitMs });
  }

  /** Requests that wait for a slot. */
  get waiting(): number {
    const limiters = [
      this.#levels,
      this.#byUser,
      this.#bulkByUser,
      this.#systemByUser,
      this.#byNetwork,
      this.#anonymous,
      this.#anonymousBulk,
    ];
    return limiters.reduce((sum, limiter) => sum + (limiter?.waiting ?? 0), 0);
  }

  /** Requests that hold a slot of a level; 0 without a limit. */
  get running(): number {
    return this.#levels?.running ?? 0;
  }

  runningOf(level: PriorityLevel): number {
    return this.#levels?.of(level).running ?? 0;
  }

  *ofMetrics(): Generator<Slot> {
    yield { limiter: this.#metrics, by: 'metrics' };
  }

  /**
   * The slots of a request, in the order in which it takes them: those of the user or of anonymous clients first, so
   * that an error names their limit. `owner`: absent for an anonymous client.
   *
   * The slot of a user is held while a body arrives, so that slow bodies of one user block nobody else.
   */
  *of(context: RequestContext, owner: CredentialOwner | undefined): Generator<Slot> {
    const level = this.#priorityOf(context, owner);
    if (owner === undefined) {
      const flow = networkOf(context.clientAddress);
      if (this.#byNetwork !== undefined) yield { limiter: this.#byNetwork.of(flow), by: 'address', isOwn: true };
      if (this.#anonymous !== undefined) yield { limiter: this.#anonymous, by: 'strangers', flow };
      if (level === 'bulk' && this.#anonymousBulk !== undefined)
        yield { limiter: this.#anonymousBulk, by: 'strangers', flow };
    } else {
      if (!owner.isSystem) this.#activity.note(owner.id);
      if (this.#byUser !== undefined)
        yield { limiter: this.#byUser.of(owner.id), by: 'user', isKept: true, isOwn: true };
      if (level === 'bulk' && this.#bulkByUser !== undefined)
        yield { limiter: this.#bulkByUser.of(owner.id), by: 'user_bulk' };
      if (level === 'system' && !owner.isSystem && this.#systemByUser !== undefined)
        yield { limiter: this.#systemByUser.of(owner.id), by: 'user_system' };
    }
    if (this.#levels === undefined) return;
    yield {
      limiter: this.#levels.of(level),
      by: level === 'users' ? 'total' : level,
      flow: owner?.id ?? anonymousFlow,
    };
  }

  #priorityOf(context: RequestContext, owner: CredentialOwner | undefined): PriorityLevel {
    if (owner?.isSystem === true) return 'system';
    const level = this.#levelOf(context);
    return owner === undefined && level === 'system' ? 'users' : level;
  }
}

/** At least one. */
export function partOf(total: number, share: number): number {
  return Math.max(1, Math.floor(total * share));
}
