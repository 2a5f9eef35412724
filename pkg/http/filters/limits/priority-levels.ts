import type { ServerResponse } from 'node:http';
import type { SlotLimiter } from './concurrency-limiter.ts';
import { FairQueue, type FairQueueOptions } from './fair-queue.ts';
import { priorityLevels, type PriorityLevel } from './priority-level.ts';

export interface PriorityLevelsOptions extends FairQueueOptions {
  /** Requests of all levels that run at a time. */
  total: number;
  /** Slots that only the level `system` uses; a quarter of `total` at most. Default 0. */
  reserved?: number;
  /**
   * Requests of the level `bulk` that run at a time; a quarter of `total` at most, and at least one. Default: no limit,
   * and no share.
   */
  bulk?: number | undefined;
}

/**
 * Shares the slots of `total` among the priority levels. Each level has a share that it gets back from others with the
 * next slots that become free:
 *
 * - `system`: the reserved slots. They are never lent, because a loan ends only when the borrower's request does. Beyond
 *   its share `system` borrows any idle slot.
 * - `bulk`: it never has more than its share, because what it takes is not a slot but the event loop. Idle slots of it
 *   are lent.
 * - `users`: the rest. Idle slots of it are lent to `system`.
 *
 * Within a level requests wait in a `FairQueue`. Source: Kubernetes' API priority and fairness.
 */
export class PriorityLevels {
  readonly #total: number;
  readonly #levels: readonly Level[];
  readonly #byName: Readonly<Record<PriorityLevel, Level>>;

  constructor({ total, reserved = 0, bulk, ...queue }: PriorityLevelsOptions) {
    this.#total = total;
    const quarter = Math.floor(total / 4);
    const system = Math.min(reserved, quarter);
    const bulkShare = Math.min(bulk ?? 0, quarter);
    const maxBulk = bulk === undefined ? total - system : Math.max(1, bulkShare);
    const level = (name: PriorityLevel, share: number, max: number): Level =>
      new Level({ name, share, max, queue: new FairQueue(queue), levels: this });
    this.#byName = {
      system: level('system', system, total),
      users: level('users', total - system - bulkShare, total - system),
      bulk: level('bulk', bulkShare, maxBulk),
    };
    this.#levels = priorityLevels.map((name) => this.#byName[name]);
  }

  get running(): number {
    const { system, users, bulk } = this.#byName;
    return system.running + users.running + bulk.running;
  }

  get waiting(): number {
    const { system, users, bulk } = this.#byName;
    return system.waiting + users.waiting + bulk.waiting;
  }

  of(level: PriorityLevel): Level {
    return this.#byName[level];
  }

  /** For Level: whether one more request of the level may run. */
  mayRun(level: Level): boolean {
    const { system } = this.#byName;
    const free = this.#total - this.running;
    const kept = level === system ? 0 : Math.max(0, system.share - system.running);
    return level.running < level.max && free > kept;
  }

  /** For Level: gives free slots to requests that wait. Levels below their share come first. */
  admitWaiting(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.admitNext();
  }

  #next(): Level | undefined {
    let borrower: Level | undefined;
    for (const level of this.#levels) {
      if (level.waiting === 0 || !this.mayRun(level)) continue;
      if (level.running < level.share) return level;
      borrower ??= level;
    }
    return borrower;
  }
}

interface LevelOptions {
  name: PriorityLevel;
  /** The slots that it has whatever the other levels do. */
  share: number;
  /** The most that it has, slots that it borrows included. */
  max: number;
  queue: FairQueue;
  levels: PriorityLevels;
}

/** The slots of one priority level. */
export class Level implements SlotLimiter {
  readonly name: PriorityLevel;
  readonly share: number;
  readonly max: number;
  running = 0;
  readonly #queue: FairQueue;
  readonly #levels: PriorityLevels;

  constructor({ name, share, max, queue, levels }: LevelOptions) {
    this.name = name;
    this.share = share;
    this.max = max;
    this.#queue = queue;
    this.#levels = levels;
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  enter(response: ServerResponse, waitedMs?: number, flow?: string): boolean | Promise<boolean> {
    return this.#take() || this.#queue.wait(response, { waitedMs, flow });
  }

  reenter(response: ServerResponse, flow?: string): boolean | Promise<boolean> {
    return this.#take() || this.#queue.wait(response, { flow, isReturning: true });
  }

  leave(): void {
    this.running -= 1;
    this.#levels.admitWaiting();
  }

  /** For PriorityLevels: admits the next request that waits, if its client is still connected. */
  admitNext(): void {
    if (this.#queue.admitNext()) this.running += 1;
  }

  #take(): boolean {
    if (!this.#levels.mayRun(this)) return false;
    this.running += 1;
    return true;
  }
}
