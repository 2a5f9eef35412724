import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { settledWithin } from '#pkg/database/index';
import type { AccessDatabase, Queryable } from '../access-database.ts';
import type { Namespaces } from './namespaces.ts';
import { rootOrgId } from './organization.ts';

export interface OrgNamespacesOptions {
  database: AccessDatabase;
  namespaces: Namespaces;
  log: Logger;
  /** Between two looks at what is left to do; default 5 s. */
  intervalMs?: number;
  /**
   * So old a namespace that was looked at is looked at again, and put right; default 5 minutes. Each start looks at
   * all.
   */
  refreshMs?: number;
  /** How long a request waits for its namespace before it is answered without it. Milliseconds, default 5000. */
  creationTimeoutMs?: number;
}

/** What there is to a removal besides the namespace. */
export interface OrgRemoval {
  /** Throws where the organization must stay. */
  check: (on: Queryable) => Promise<void>;
  removeRow: (on: Queryable) => Promise<void>;
}

/** `$1`: since when a look counts, by the database's clock, or null; `$2`: for how many seconds at most. */
const isDue =
  '(NOT namespace_ready OR namespace_checked IS NULL OR namespace_checked < greatest($1::timestamptz, clock_timestamp() - make_interval(secs => $2)))';
/** In one look. */
const MOST = 50;
/**
 * Attempts at one removal, and the longest pause between two of them: replicas that look meanwhile are not to keep step
 * with it.
 */
const REMOVALS = 20;
const REMOVAL_PAUSE_MS = 20;

/**
 * Keeps the content platform's namespaces in step with the organizations, whatever fails in between: column
 * `namespace_ready` says what is left to do, and `namespace_checked` what has not been looked at for long: whoever may
 * do so there can delete and change what roles here rest on. Every replica looks at both from time to time. One
 * organization is dealt with by one of them at a time, under a lock of its row; and each of them deals with one at a
 * time, so that a platform that does not answer never takes up all connections to the database.
 */
export class OrgNamespaces {
  readonly #database: AccessDatabase;
  readonly #namespaces: Namespaces;
  readonly #log: Logger;
  readonly #intervalMs: number;
  readonly #refreshMs: number;
  readonly #creationTimeoutMs: number;
  /** When the first look began, by the database's clock: each start looks at all. */
  #begun: string | null = null;
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> = Promise.resolve();
  /** Settles when nothing is under way: what comes next waits for it. Never rejects. */
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

  /** Looks at once, and from then on. */
  start(): void {
    if (this.#isStopped) return;
    this.#look = this.#ensureAll().finally(() => {
      // Not all replicas at the same moment.
      if (!this.#isStopped)
        this.#timer = setTimeout(() => this.start(), this.#intervalMs * (0.5 + Math.random())).unref();
    });
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#look;
    await this.#idle;
  }

  /** Resolves when the namespace is there, and also where it will be later. Never rejects. */
  async ensure(orgId: string): Promise<void> {
    const attempt = this.#inTurn(() => this.#ensureOne(orgId)).catch((error: unknown) => this.#failed(orgId, error));
    await settledWithin(attempt, this.#creationTimeoutMs);
  }

  /**
   * Removes the namespace and then, in the same transaction, the organization itself. `check` is asked before, and
   * again under the lock, from which on nobody becomes a member. A process that dies in between leaves an organization
   * whose namespace is made anew. Rejects where the platform cannot be reached.
   */
  async remove(orgId: string, { check, removeRow }: OrgRemoval): Promise<'removed' | 'in use'> {
    await check(this.#database.pool);
    const outcome = await this.#inTurn(() => this.#remove(orgId, { check, removeRow }));
    if (outcome === 'in use') await this.ensure(orgId);
    return outcome;
  }

  async #remove(orgId: string, { check, removeRow }: OrgRemoval): Promise<'removed' | 'in use'> {
    for (let attempt = 0; attempt < REMOVALS; attempt += 1) {
      // Before anything is removed, and for good: whatever comes now, somebody will look whether the namespace is
      // there.
      await this.#database.pool.query({
        name: 'namespace-doubtful',
        text: 'UPDATE access.organizations SET namespace_ready = false WHERE id = $1',
        values: [orgId],
      });
      const outcome = await this.#database.transaction(async (on) => {
        const { rows } = await on.query<{ namespace_ready: boolean }>({
          name: 'organization-lock',
          text: 'SELECT namespace_ready FROM access.organizations WHERE id = $1 FOR UPDATE',
          values: [orgId],
        });
        // Another replica has looked in between.
        if (rows[0]?.namespace_ready === true) return undefined;
        await check(on);
        const removed = await this.#namespaces.remove({ id: orgId });
        if (removed === 'removed') await removeRow(on);
        return removed;
      });
      if (outcome !== undefined) return outcome;
      await delay(Math.random() * REMOVAL_PAUSE_MS);
    }
    throw new Error('others made the namespace anew each time');
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#idle.then(work);
    this.#idle = result.catch(() => undefined);
    return result;
  }

  async #ensureAll(): Promise<void> {
    try {
      this.#begun ??= (
        await this.#database.pool.query<{ now: string }>('SELECT clock_timestamp()::text AS now')
      ).rows[0]!.now;
      const { rows } = await this.#database.pool.query<{ id: string }>({
        name: 'namespaces-due',
        // At random: one that always fails is in nobody's way.
        text: `SELECT id FROM access.organizations WHERE ${isDue} AND id <> '${rootOrgId}' ORDER BY namespace_ready, random() LIMIT ${MOST}`,
        values: [this.#begun, this.#refreshMs / 1000],
      });
      for (const { id } of rows) {
        if (this.#isStopped) return;
        await this.#inTurn(() => this.#ensureOne(id));
      }
    } catch (error) {
      this.#failed(undefined, error);
    }
  }

  /** Nothing where it was looked at already, or another replica is at it. */
  async #ensureOne(orgId: string): Promise<void> {
    if (this.#isStopped) return;
    await this.#database.transaction(async (on) => {
      const { rows } = await on.query<{ id: string; name: string }>({
        name: 'namespace-take',
        text: `SELECT id, name FROM access.organizations WHERE id = $3 AND ${isDue} FOR NO KEY UPDATE SKIP LOCKED`,
        values: [this.#begun, this.#refreshMs / 1000, orgId],
      });
      if (rows[0] === undefined) return;
      await this.#namespaces.ensure(rows[0]);
      await on.query({
        name: 'namespace-ready',
        text: 'UPDATE access.organizations SET namespace_ready = true, namespace_checked = clock_timestamp() WHERE id = $1',
        values: [orgId],
      });
    });
  }

  #failed(orgId: string | undefined, error: unknown): void {
    this.#log.warn(
      { err: error, organization: orgId },
      'The namespace of an organization could not be made; it will be tried again.',
    );
  }
}
