import type { Pool, QueryConfig, QueryResultRow } from 'pg';
import { pause, type GroupResource, type ObjectKey } from '#pkg/apimachinery/index';
import { isDatabaseBusy, type Database, type DatabaseLog } from '#pkg/database/index';
import type { ChangeFeed } from '../../change.ts';
import type { ReadBudget } from '../../read-budget.ts';
import { isStorageError, StorageError } from '../../storage-error.ts';
import type { StandbyState } from '../../store-observer.ts';
import type {
  ChunkQuery,
  ObjectChunk,
  ObjectPage,
  ObjectReader,
  ObjectStream,
  PageQuery,
  StoredObject,
  StreamQuery,
} from '../../store.ts';
import type { StandbyLog } from '../change-log/change-log.ts';
import { readLogUpToText, type LogRow } from '../change-log/change-rows.ts';
import { translateError } from '../connection/translate-error.ts';
import { PostgresObjectReader, type ObjectReaderOptions } from '../postgres-object-reader.ts';
import { TableCatalog } from '../table/table-catalog.ts';
import { StandbyRevisions, standbyWaitMs, type Confirmed } from './standby-revisions.ts';
import { listSessionSettings } from '../list/list-query.ts';

/** How long a read of the log waits for the standby. Watches, roles and models follow it, so it is short. Milliseconds. */
const logWaitMs = 250;
/** How long the log is read from the primary after the standby was late. Milliseconds. */
const logRetryMs = 1000;
const retryPauseMs = 20;

export interface StandbyReaderOptions {
  /** The standby. */
  database: Database;
  /** Pool of the primary. */
  pool: Pool;
  /** Of the primary. */
  catalog: TableCatalog;
  /** Reads from the primary. */
  primary: ObjectReader;
  log: DatabaseLog;
  cursor: () => number;
  connections: number;
  statementTimeoutMs: number;
  queryTimeoutMs: number;
}

/**
 * Reads objects and the log from a streaming standby, and gives out nothing that the primary has not confirmed: it asks
 * the primary for its newest revision, reads on a connection that shows it, and asks again if it has read a newer one.
 */
export class StandbyReader implements ObjectReader, StandbyLog {
  readonly #primary: ObjectReader;
  readonly #revisions: StandbyRevisions;
  readonly #reads: Pool;
  readonly #snapshots: Pool;
  readonly #logPool: Pool;
  /** Of the primary. */
  readonly #tables: TableCatalog;
  readonly #catalog: TableCatalog;
  readonly #log: DatabaseLog;
  #reader: PostgresObjectReader | undefined;
  #logIsLate = false;
  #logFrom = 0;

  constructor({ database, pool, catalog, primary, log, cursor, connections, ...timeouts }: StandbyReaderOptions) {
    this.#primary = primary;
    this.#tables = catalog;
    this.#log = log;
    this.#revisions = new StandbyRevisions({ pool, log, cursor });
    const newPool = (name: string, max: number, limitMs: number): Pool =>
      database.newPool({
        name,
        max,
        settings: listSessionSettings,
        ...timeouts,
        beforeUse: (client) => this.#revisions.awaitShown(client, limitMs),
      });
    this.#reads = newPool('standby reads', connections, standbyWaitMs);
    this.#snapshots = newPool('standby snapshots', connections, standbyWaitMs);
    this.#logPool = newPool('standby log', 1, logWaitMs);
    this.#catalog = new TableCatalog(this.#reads);
  }

  /** Before the first read of objects. The feed exists only then, as it reads the log through this. */
  start(options: Pick<ObjectReaderOptions, 'large' | 'onOldTable'> & { feed: ChangeFeed }): void {
    this.#reader = new PostgresObjectReader({
      ...options,
      reads: this.#reads,
      snapshots: this.#snapshots,
      catalog: this.#catalog,
    });
  }

  /** What the standby lacks is looked for at the primary: it may have been deleted by a change that is not confirmed. */
  async get(resource: GroupResource, key: ObjectKey, readBudget?: ReadBudget): Promise<StoredObject | undefined> {
    const found = await this.#read(
      resource,
      (reader) => reader.get(resource, key, readBudget),
      (object) => object?.revision ?? 0,
    );
    return found ?? this.#primary.get(resource, key, readBudget);
  }

  page(resource: GroupResource, query: PageQuery): Promise<ObjectPage> {
    return this.#read(
      resource,
      (reader) => reader.page(resource, query),
      ({ revision }) => revision,
      async ({ rest }) => rest?.close(),
    );
  }

  chunk(resource: GroupResource, query: ChunkQuery): Promise<ObjectChunk> {
    return this.#read(
      resource,
      (reader) => reader.chunk(resource, query),
      ({ revision }) => revision,
    );
  }

  stream(resource: GroupResource, query: StreamQuery): Promise<ObjectStream> {
    return this.#read(
      resource,
      (reader) => reader.stream(resource, query),
      ({ revision }) => revision,
      (stream) => stream.close(),
    );
  }

  /** See `StandbyLog`. */
  async newer(after: number, known: number): Promise<LogRow[] | undefined> {
    if (performance.now() < this.#logFrom) return undefined;
    try {
      const { revision } = await this.#revisions.newest();
      const values = [after, known, revision];
      const { rows } = await this.#logPool.query<LogRow>({ name: 'read-log-up-to', text: readLogUpToText, values });
      if (this.#logIsLate) this.#log.info({}, 'the change log is read from the standby again');
      this.#logIsLate = false;
      return rows;
    } catch (error) {
      if (!this.#logIsLate)
        this.#log.warn({ err: error }, 'the change log is read from the primary, because the standby fails');
      this.#logIsLate = true;
      this.#logFrom = performance.now() + logRetryMs;
      return undefined;
    }
  }

  /** See `StandbyLog`. */
  history<Row extends QueryResultRow>(query: QueryConfig): Promise<Row[]> {
    return this.#retried(async () => (await this.#reads.query<Row>(query)).rows);
  }

  forgetAll(): void {
    this.#catalog.forgetAll();
    this.#reader?.forgetAll();
  }

  /** Drops the counts of a dropped model. */
  forget(tableId: number): void {
    this.#reader?.forget(tableId);
  }

  state(): StandbyState {
    return this.#revisions.state();
  }

  /** Snapshots that long lists hold. */
  get snapshots(): number {
    return this.#snapshots.totalCount - this.#snapshots.idleCount;
  }

  async close(): Promise<void> {
    this.#reader?.close();
    await Promise.all([this.#reads.end(), this.#snapshots.end(), this.#logPool.end()]);
  }

  /** `revisionOf`: the newest change that a result may show. */
  async #read<T>(
    resource: GroupResource,
    read: (reader: ObjectReader) => Promise<T>,
    revisionOf: (result: T) => number,
    close: (result: T) => Promise<void> = async () => {},
  ): Promise<T> {
    const outcome = await this.#retried(async (since) => {
      if (!(await this.#hasSameTable(resource))) return { isElsewhere: true } as const;
      const result = await read(this.#reader!);
      const isConfirmed = await this.#isConfirmed(result, { revision: revisionOf(result), since, close });
      return isConfirmed ? { result } : undefined;
    });
    return 'result' in outcome ? outcome.result : read(this.#primary);
  }

  /**
   * Does the standby have the table of this model as the primary has it? Tables have no revisions: one that was just
   * created, changed or replaced may be missing there, or still be what it was.
   */
  async #hasSameTable(resource: GroupResource): Promise<boolean> {
    for (const isLast of [false, true]) {
      const [known, shown] = await Promise.all([this.#tables.find(resource), this.#catalog.find(resource)]);
      if (known !== undefined && known.id === shown?.id && known.shape === shown.shape) return true;
      if (isLast) break;
      this.#tables.forget(resource);
      this.#catalog.forget(resource);
    }
    return false;
  }

  /**
   * Tries again while the result is undefined, the standby ends the read because of a conflict with what it replays, or is
   * away for a moment.
   */
  async #retried<T>(attempt: (since: Confirmed) => Promise<T | undefined>): Promise<T> {
    const deadline = performance.now() + standbyWaitMs;
    for (;;) {
      const since = await this.#revisions.newest();
      const isLast = performance.now() > deadline;
      try {
        const result = await attempt(since);
        if (result !== undefined) return result;
      } catch (error) {
        if (isLast || !isDatabaseBusy(error)) throw ofStandby(error);
      }
      if (isLast)
        throw new StorageError('Unavailable', 'the primary database changed while its standby was being read');
      await pause(retryPauseMs);
    }
  }

  async #isConfirmed<T>(
    result: T,
    { revision, since, close }: { revision: number; since: Confirmed; close: (result: T) => Promise<void> },
  ): Promise<boolean> {
    let isConfirmed = false;
    try {
      isConfirmed = await this.#revisions.confirm(revision, since);
      return isConfirmed;
    } finally {
      if (!isConfirmed) await close(result);
    }
  }
}

function ofStandby(error: unknown): unknown {
  const translated = translateError(error);
  if (!isStorageError(translated, 'Unavailable') || translated.cause === undefined) return translated;
  return new StorageError('Unavailable', `no read from the standby: ${translated.message}`, { cause: error });
}
