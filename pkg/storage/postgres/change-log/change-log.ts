import type { Pool, QueryConfig, QueryResultRow } from 'pg';
import type { GroupResource } from '#pkg/apimachinery/index';
import type { DatabaseLog, Notifications } from '#pkg/database/index';
import type { Change, ChangeFeed, ChangeListener, Incarnation } from '../../change.ts';
import type { ReadBudget } from '../../read-budget.ts';
import type { Rewind } from '../../store.ts';
import { StorageError } from '../../storage-error.ts';
import type { LargeReads } from '../connection/large-reads.ts';
import { type ReplicaPresence, changesChannel } from '../connection/replica-presence.ts';
import { translated } from '../connection/translate-error.ts';
import { checkEpoch, leaveEpoch } from '../history/epoch.ts';
import { gapsText, type Gap } from '../history/gaps.ts';
import type { TableCatalog } from '../table/table-catalog.ts';
import type { Table } from '../table/table.ts';
import type { BatchSink } from '../write/batch-runner.ts';
import type { BatchOperation } from '../write/batch-operation.ts';
import {
  briefBytes,
  changeFromRow,
  markOf,
  modelReadBytes,
  readLogText,
  readModelBrieflyText,
  readModelText,
  maxReadRows,
  writtenAtMs,
  type LogRow,
} from './change-rows.ts';

const pollIntervalMs = 500;

/** Where the log is read from while a standby has it. */
export interface StandbyLog {
  /**
   * What `readLogText` reads, up to the newest revision that the primary confirms; undefined if the standby does not have
   * it in time.
   */
  newer(after: number, known: number): Promise<LogRow[] | undefined>;
  /** Runs a query for what the feed has delivered already. */
  history<Row extends QueryResultRow>(query: QueryConfig): Promise<Row[]>;
}

export interface ChangeLogOptions {
  pool: Pool;
  standby?: StandbyLog | undefined;
  notifications: Notifications;
  catalog: TableCatalog;
  replicas: ReplicaPresence;
  large: LargeReads;
  log: DatabaseLog;
  /** See `EpochOptions`. */
  ownsFiles: boolean;
  /** Another server took over: what was read from the one before, past the feed, may be wrong. */
  onGap: () => void;
}

/**
 * The only reader of the log in this process. It reads after notifications of other processes, after writes with an
 * unknown outcome, and every 500 ms. This process's own batches are delivered from memory if they follow the cursor
 * without a gap. A standby cannot notify, so notifications always come from the primary.
 * A batch draws its revisions under a lock that it holds until its commit: a reader that sees a revision sees all
 * revisions below it.
 */
export class ChangeLog implements ChangeFeed, BatchSink {
  readonly #options: ChangeLogOptions;
  readonly #listeners = new Set<ChangeListener>();
  readonly #waiters = new Set<() => void>();
  #cursor = 0;
  /**
   * The newest revision that this process knows to be drawn: beyond the cursor where no write used it, so that no other
   * process ever reads it.
   */
  #drawn = 0;
  #currentAt = -Infinity;
  #compacted = 0;
  #gaps: readonly Gap[] = [];
  #epoch = 0;
  /** The newest delivered row. If it is gone or different in the log, the database has another history. */
  #last: { revision: number; mark: string | null } = { revision: 0, mark: null };
  #reading: Promise<void> | undefined;
  #again = false;
  /** Serializes the checks of the epoch. */
  #checking = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void)[] = [];
  #stopped = false;
  #rewind: (how: Rewind) => void = () => {};
  /** See `Store.rewound`. */
  readonly rewound: Promise<Rewind>;

  constructor(options: ChangeLogOptions) {
    this.#options = options;
    this.rewound = new Promise((resolve) => (this.#rewind = resolve));
  }

  get cursor(): number {
    return this.#cursor;
  }

  get currentAt(): number {
    return this.#currentAt;
  }

  get compacted(): number {
    return this.#compacted;
  }

  isLost(revision: number): boolean {
    return this.#gaps.some(([after, upTo]) => revision > after && revision <= upTo);
  }

  /** Starts at the newest change; earlier changes are history. */
  async start(): Promise<void> {
    const { pool, notifications, replicas } = this.#options;
    const asked = performance.now();
    const { rows } = await pool.query<{
      newest: string;
      mark: string;
      compacted: string;
      epoch: number;
      gaps: readonly Gap[] | null;
    }>(
      `SELECT rev AS newest, ${markOf} AS mark, compacted, epoch, ${gapsText} AS gaps FROM platform.meta, platform.change_log ORDER BY rev DESC LIMIT 1`,
    );
    const row = rows[0]!;
    this.#cursor = Number(row.newest);
    this.#currentAt = asked;
    this.#drawn = this.#cursor;
    this.#last = { revision: this.#cursor, mark: row.mark };
    this.#compacted = Number(row.compacted);
    this.#gaps = row.gaps ?? [];
    this.#epoch = row.epoch;
    this.#unsubscribe.push(
      await notifications.on(changesChannel, (payload) => replicas.heard(payload) && this.#wake()),
    );
    // A new connection may reach another server: a standby that took over, or a restored copy.
    this.#unsubscribe.push(notifications.onReconnect(() => void this.checkEpoch()));
    replicas.start();
    this.#timer = setInterval(() => this.#wake(), pollIntervalMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const wake of this.#waiters) wake();
    await this.#options.replicas.stop();
    await this.#checking;
    await this.#reading?.catch(() => undefined);
    this.#listeners.clear();
  }

  subscribe(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  catchUp(): Promise<number> {
    return translated(this.#catchUp());
  }

  async #catchUp(): Promise<number> {
    const { rows } = await this.#options.pool.query<{ newest: string }>({
      name: 'newest',
      text: 'SELECT max(rev) AS newest FROM platform.change_log',
    });
    const newest = Number(rows[0]!.newest);
    while (this.#cursor < newest && !this.#stopped) await this.#read();
    if (this.#cursor < newest) throw new StorageError('Unavailable', 'changes are no longer followed');
    return newest;
  }

  async waitFor(revision: number, timeoutMs: number): Promise<boolean> {
    if (this.#cursor >= revision) return true;
    const deadline = performance.now() + timeoutMs;
    while (this.#cursor < revision && !this.#stopped && performance.now() < deadline)
      await this.#nextMove(deadline - performance.now());
    return this.#cursor >= revision;
  }

  read(resource: GroupResource, after: number, readBudget?: ReadBudget): Promise<{ changes: Change[]; upTo: number }> {
    return translated(this.#readModel(resource, after, readBudget));
  }

  async #readModel(
    resource: GroupResource,
    after: number,
    readBudget: ReadBudget | undefined,
  ): Promise<{ changes: Change[]; upTo: number }> {
    const upTo = this.#cursor;
    const table = await this.#options.catalog.get(resource);
    const rows = await this.#modelRows([after, upTo, table.id], readBudget);
    const compacted = Number(rows[0]!.compacted);
    if (after < Math.max(compacted, table.replaces) || this.isLost(after))
      throw new StorageError('Compacted', 'this history is no longer kept');
    const changes = rows.flatMap(changeFromRow);
    const found = Number(rows[0]!.page_rows ?? 0);
    const complete = found < maxReadRows && rows.length >= found;
    return { changes, upTo: complete ? upTo : Math.max(changes.at(-1)?.revision ?? upTo, after) };
  }

  async #modelRows(values: number[], readBudget: ReadBudget | undefined): Promise<LogRow[]> {
    const { pool, standby, large } = this.#options;
    const query = async (config: QueryConfig): Promise<LogRow[]> =>
      standby === undefined ? (await pool.query<LogRow>(config)).rows : standby.history<LogRow>(config);
    const rows = await query({ name: 'read-model-briefly', text: readModelBrieflyText, values });
    const first = rows[0]!;
    const all = Number(first.page_bytes ?? 0);
    if (all <= briefBytes) return rows;
    const bytes = Math.max(first.size ?? 0, Math.min(all, modelReadBytes));
    await readBudget?.admit(bytes);
    return large.run({ owner: readBudget?.owner, bytes }, () =>
      query({ name: 'read-model', text: readModelText, values }),
    );
  }

  /** Bypasses the cache: otherwise a watch would not learn that another replica dropped its incarnation. */
  async incarnationOf(resource: GroupResource): Promise<Incarnation | undefined> {
    this.#options.catalog.forget(resource);
    const table = await translated(this.#options.catalog.find(resource));
    return table === undefined
      ? undefined
      : { modelId: table.id, replaces: table.replaces, computedSince: computedSince(table) };
  }

  committed(first: number, last: number, changes: readonly Change[], batch: string): void {
    // If the batch does not follow the known revisions, another process wrote in between: read both from the log.
    if (first - 1 !== this.#drawn) {
      if (last > this.#drawn) this.#wake();
      return;
    }
    this.#drawn = last;
    const inOrder = changes.toSorted((a, b) => a.revision - b.revision);
    const newest = inOrder.at(-1)?.revision;
    if (newest === undefined) return;
    this.#last = { revision: newest, mark: batch };
    this.#tell(inOrder, newest);
  }

  uncertain(): void {
    this.#wake();
  }

  stale(operations: readonly BatchOperation[]): void {
    for (const { table } of operations) this.#options.catalog.forget(table.resource);
  }

  async checkEpoch(): Promise<boolean> {
    let checkedAt = Infinity;
    this.#checking = this.#checking
      .then(() => checkEpoch(this.#options))
      .catch((error: unknown) => this.#options.log.warn({ err: error }, 'the epoch could not be checked'))
      .then(() => {
        checkedAt = performance.now();
        return this.#tryRead();
      });
    await this.#checking;
    return !this.#stopped && this.#currentAt >= checkedAt;
  }

  #wake(): void {
    if (this.#stopped) return;
    if (this.#reading !== undefined) {
      this.#again = true;
      return;
    }
    void this.#tryRead();
  }

  async #tryRead(): Promise<void> {
    if (this.#stopped) return;
    await this.#read().catch((error: unknown) =>
      this.#options.log.warn({ err: error }, 'the change log could not be read; trying again'),
    );
  }

  /**
   * Only one read runs at a time. A caller that arrives during a read waits for the next one, which includes the
   * changes it needs.
   */
  async #read(): Promise<void> {
    if (this.#reading !== undefined) {
      this.#again = true;
      await this.#reading.catch(() => undefined);
      return;
    }
    this.#reading = this.#readToEnd();
    await this.#reading;
  }

  async #readToEnd(): Promise<void> {
    try {
      await this.#readWhileAsked();
    } finally {
      // In the same turn as the last check of `#again`: a wake between the two would be lost.
      this.#reading = undefined;
    }
  }

  async #readWhileAsked(): Promise<void> {
    do {
      this.#again = false;
      const known = this.#last;
      const asked = performance.now();
      const rows = await this.#rowsAfter(this.#cursor, known.revision);
      if (this.#stopped) return;
      const compacted = Number(rows[0]!.compacted);
      const isThere = rows[0]!.known_mark === known.mark;
      const isLost = known.revision > compacted && !isThere;
      // Compaction deletes rows some time after it raises `compacted`: rows that still exist are delivered.
      const isGone = compacted > this.#cursor && (!isThere || rows[0]!.known_spared);
      const isInGap = isLost && (await leaveEpoch(this.#options, { epoch: this.#epoch, revision: known.revision }));
      if (isLost || rows[0]!.epoch !== this.#epoch || isGone) {
        // Undelivered changes are gone: state derived from the feed cannot be repaired, only rebuilt.
        this.#stopped = true;
        for (const wake of this.#waiters) wake();
        this.#rewind(isInGap ? 'failover' : 'void');
        return;
      }
      this.#compacted = compacted;
      // Before the cursor passes a gap.
      this.#learnGaps(rows[0]!.gaps ?? []);
      const newest = rows.at(-1)?.rev;
      if (newest == null) {
        this.#currentAt = asked;
        continue;
      }
      if (Number(newest) > this.#last.revision) this.#last = { revision: Number(newest), mark: rows.at(-1)!.mark };
      // A batch of this process may have moved the cursor while the query ran.
      const news = rows.filter((row) => Number(row.rev) > this.#cursor && row.type !== 'M');
      this.#tell(news.flatMap(changeFromRow), Math.max(this.#cursor, Number(newest)), news.map(writtenAtMs));
      const found = Number(rows[0]!.page_rows);
      if (found < maxReadRows && rows.length >= found) this.#currentAt = asked;
      else this.#again = true;
    } while (this.#again && !this.#stopped);
  }

  async #rowsAfter(after: number, known: number): Promise<LogRow[]> {
    const { pool, standby } = this.#options;
    const rows = await standby?.newer(after, known);
    if (rows !== undefined) return rows;
    return (await pool.query<LogRow>({ name: 'read-log', text: readLogText, values: [after, known] })).rows;
  }

  #learnGaps(gaps: readonly Gap[]): void {
    const isNew = gaps.length > 0 && gaps.at(-1)![1] !== this.#gaps.at(-1)?.[1];
    this.#gaps = gaps;
    if (isNew) this.#options.onGap();
  }

  #tell(changes: readonly Change[], cursor: number, writtenAt?: readonly number[]): void {
    this.#cursor = cursor;
    this.#drawn = Math.max(this.#drawn, cursor);
    for (const listener of this.#listeners) {
      try {
        listener(changes, cursor, writtenAt);
      } catch (error) {
        this.#options.log.error({ err: error }, 'a listener of the change feed failed');
      }
    }
    for (const wake of this.#waiters) wake();
  }

  #nextMove(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, timeoutMs);
      this.#waiters.add(wake);
    });
  }
}

function computedSince({ computed = [] }: Table): ReadonlyMap<string, number> {
  return new Map(
    computed.flatMap(({ index, state, since }) =>
      state === 'ready' && since !== undefined ? [[index.computed.id, since]] : [],
    ),
  );
}
