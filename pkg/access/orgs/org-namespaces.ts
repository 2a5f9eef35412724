import { setTimeout as delay } from 'node:timers/promises';
import { sql, type RawBuilder } from 'kysely';
import type { Logger } from 'pino';
import { runQuery, settledWithin, type Queryable } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import type { Namespaces } from './namespaces.ts';
import { rootOrgId } from './organization.ts';

export interface OrgNamespacesOptions {
  database: AccessDatabase;
  namespaces: Namespaces;
  log: Logger;
  /** How often to look for unfinished work; default 5 s. */
  intervalMs?: number;
  /**
   * How often each namespace is checked and repaired; default 5 minutes. Each start checks all of them.
   */
  refreshMs?: number;
  /** How long a request waits for its namespace before it is answered without it. Milliseconds, default 5000. */
  creationTimeoutMs?: number;
}

/** The checks and rows of a removal, apart from the namespace. */
export interface OrgRemoval {
  /** Throws if the organization must not be removed. */
  check: (on: Queryable) => Promise<void>;
  removeRow: (on: Queryable) => Promise<void>;
}

/** Namespaces that one round checks at most. */
const maxNamespacesPerRound = 50;
/**
 * Attempts at one removal, and the longest pause between two of them; the pauses are random, so that checks of other
 * replicas do not collide with each attempt.
 */
const maxRemovalAttempts = 20;
const maxRemovalPauseMs = 20;

/**
 * Keeps the content platform's namespaces in sync with the organizations, through failures. Column `namespace_ready`
 * marks unfinished work. Column `namespace_checked` has the time of the last check: users of the platform with enough
 * permissions can delete or change the objects that roles depend on, so every replica checks them periodically. A lock
 * on its row lets one replica at a time process an organization. Each replica processes one at a time, so that an
 * unreachable platform never takes all database connections.
 */
export class OrgNamespaces {
  readonly #database: AccessDatabase;
  readonly #namespaces: Namespaces;
  readonly #log: Logger;
  readonly #intervalMs: number;
  readonly #refreshMs: number;
  readonly #creationTimeoutMs: number;
  /** When the first round began, by the database's clock: each start checks all namespaces. */
  #begun: string | null = null;
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> = Promise.resolve();
  /** The work so far; the next work waits for it. Never rejects. */
  #idle: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  constructor({
    database,
    namespaces,
    log,
    intervalMs = 5_000,
    refreshMs = 300_000,
    creationTimeoutMs = 5_000,
  }: OrgNamespacesOptions) {
    this.#database = database;
    this.#namespaces = namespaces;
    this.#log = log;
    this.#intervalMs = intervalMs;
    this.#refreshMs = refreshMs;
    this.#creationTimeoutMs = creationTimeoutMs;
  }

  /** Runs a round at once, and then periodically. */
  start(): void {
    if (this.#isStopped) return;
    this.#look = this.#ensureAll().finally(() => {
      // Jitter, so that replicas do not run at the same time.
      if (!this.#isStopped)
        this.#timer = setTimeout(() => this.start(), this.#intervalMs * (0.5 + Math.random())).unref();
    });
  }

  /** Resolves when all work has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#look;
    await this.#idle;
  }

  /** Resolves when the namespace exists, or after the timeout, when it will exist later. Never rejects. */
  async ensure(orgId: string): Promise<void> {
    const attempt = this.#inTurn(() => this.#ensureOne(orgId)).catch((error: unknown) => this.#failed(orgId, error));
    await settledWithin(attempt, this.#creationTimeoutMs);
  }

  /**
   * Removes the namespace and then, in the same transaction, the organization itself. Calls `check` first, and again
   * under the lock, from which on no member can be added. If the process dies in between, the organization remains, and
   * its namespace is created again. Rejects if the platform cannot be reached.
   */
  async remove(orgId: string, { check, removeRow }: OrgRemoval): Promise<'removed' | 'in use'> {
    await check(this.#database.pool);
    const outcome = await this.#inTurn(() => this.#remove(orgId, { check, removeRow }));
    if (outcome === 'in use') await this.ensure(orgId);
    return outcome;
  }

  async #remove(orgId: string, { check, removeRow }: OrgRemoval): Promise<'removed' | 'in use'> {
    for (let attempt = 0; attempt < maxRemovalAttempts; attempt += 1) {
      // Before anything is removed, and for good: whatever comes now, somebody will look whether the namespace is
      // there.
      const doubt = accessQuery
        .updateTable('access.organizations')
        .set({ namespace_ready: false })
        .where('id', '=', orgId);
      await runQuery(this.#database.pool, doubt, 'namespace-doubtful');
      const outcome = await this.#database.transaction(async (on) => {
        const organization = accessQuery
          .selectFrom('access.organizations')
          .select('namespace_ready')
          .where('id', '=', orgId)
          .forUpdate();
        const { rows } = await runQuery(on, organization, 'organization-lock');
        // Another replica has checked it meanwhile.
        if (rows[0]?.namespace_ready === true) return undefined;
        await check(on);
        const removed = await this.#namespaces.remove({ id: orgId });
        if (removed === 'removed') await removeRow(on);
        return removed;
      });
      if (outcome !== undefined) return outcome;
      await delay(Math.random() * maxRemovalPauseMs);
    }
    throw new Error('the namespace was created again after each deletion');
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#idle.then(work);
    this.#idle = result.catch(() => undefined);
    return result;
  }

  async #ensureAll(): Promise<void> {
    try {
      this.#begun ??= (
        await runQuery(this.#database.pool, sql<{ now: string }>`SELECT clock_timestamp()::text AS now`)
      ).rows[0]!.now;
      const due = accessQuery
        .selectFrom('access.organizations')
        .select('id')
        .where(this.#isDue())
        .where('id', '<>', rootOrgId)
        .orderBy('namespace_ready')
        // So that one that always fails does not block the others.
        .orderBy(sql`random()`)
        .limit(maxNamespacesPerRound);
      const { rows } = await runQuery(this.#database.pool, due, 'namespaces-due');
      for (const { id } of rows) {
        if (this.#isStopped) return;
        await this.#inTurn(() => this.#ensureOne(id));
      }
    } catch (error) {
      this.#failed(undefined, error);
    }
  }

  /** Does nothing if it was checked already, or another replica is checking it. */
  async #ensureOne(orgId: string): Promise<void> {
    if (this.#isStopped) return;
    await this.#database.transaction(async (on) => {
      const organization = accessQuery
        .selectFrom('access.organizations')
        .select(['id', 'name'])
        .where('id', '=', orgId)
        .where(this.#isDue())
        .forNoKeyUpdate()
        .skipLocked();
      const { rows } = await runQuery(on, organization, 'namespace-take');
      if (rows[0] === undefined) return;
      await this.#namespaces.ensure(rows[0]);
      const ready = accessQuery
        .updateTable('access.organizations')
        .set({ namespace_ready: true, namespace_checked: sql<Date>`clock_timestamp()` })
        .where('id', '=', orgId);
      await runQuery(on, ready, 'namespace-ready');
    });
  }

  #isDue(): RawBuilder<boolean> {
    const refreshSeconds = this.#refreshMs / 1000;
    return sql`(NOT namespace_ready OR namespace_checked IS NULL
      OR namespace_checked < greatest(${this.#begun}::timestamptz, clock_timestamp() - make_interval(secs => ${refreshSeconds})))`;
  }

  #failed(orgId: string | undefined, error: unknown): void {
    this.#log.warn({ err: error, organization: orgId }, 'could not create the namespace of an organization; retrying');
  }
}
