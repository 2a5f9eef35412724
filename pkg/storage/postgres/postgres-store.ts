import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { migrate, Notifications, type Database, type DatabaseLog } from '#pkg/database/index';
import type { GroupResource, ObjectKey } from '#pkg/apimachinery/index';
import type { KeyEvaluator } from '../key-evaluator.ts';
import type { ReadBudget } from '../read-budget.ts';
import { StorageError } from '../storage-error.ts';
import type { StoreMeasures, StoreObserver, StoreState } from '../store-observer.ts';
import type {
  ChunkQuery,
  CompactionLimits,
  IdempotencyKey,
  IndexState,
  ObjectChunk,
  ObjectPage,
  ObjectReader,
  ObjectStream,
  PageQuery,
  RememberedWrite,
  Rewind,
  Store,
  StoredModel,
  StoredObject,
  StreamQuery,
  Write,
  StoreWriteOptions,
} from '../store.ts';
import { PostgresAuditLog } from './audit/postgres-audit-log.ts';
import { BatchRunner } from './write/batch-runner.ts';
import { ChangeLog } from './change-log/change-log.ts';
import { RecentObjects } from './change-log/recent-objects.ts';
import { IdempotencyKeyReader } from './write/idempotency-key-reader.ts';
import { Compactor } from './history/compactor.ts';
import { isStaleTable } from './connection/database-failure.ts';
import { checkEpoch } from './history/epoch.ts';
import { runExclusively } from './connection/run-exclusively.ts';
import { IndexBuilder } from './index/index-builder.ts';
import { KeyComputer } from './index/key-computer.ts';
import { LargeReads } from './connection/large-reads.ts';
import { listSessionSettings } from './list/list-query.ts';
import { platformMigrations } from './migrations.ts';
import { PostgresObjectReader } from './postgres-object-reader.ts';
import { PostgresQuotas } from './quota/postgres-quotas.ts';
import { toOperation, type BatchOperation } from './write/batch-operation.ts';
import { explainDryRun } from './write/explain-failure.ts';
import { ReplicaPresence } from './connection/replica-presence.ts';
import { rememberUnchanged } from './write/idempotency-keys.ts';
import { StandbyReader } from './standby/standby-reader.ts';
import { measureStore } from './measure-store.ts';
import { TableCatalog } from './table/table-catalog.ts';
import { TableDefiner } from './table/table-definer.ts';
import type { Table } from './table/table.ts';
import { translated } from './connection/translate-error.ts';
import { WriteBatcher } from './write/write-batcher.ts';
import { WriterConnection } from './write/writer-connection.ts';

export interface PostgresStoreOptions {
  database: Database;
  /** A streaming standby of it, which answers `reads` and most reads of the change log. */
  readDatabase?: Database | undefined;
  log: DatabaseLog;
  /** Number of connections for reads, and of further ones for long lists. Default 8. */
  readConnections?: number;
  /** Number of connections for the short statements that everything waits for. Default 6. */
  controlConnections?: number;
  /** Timeout of a read. Milliseconds, default 30 000. */
  readTimeoutMs?: number;
  /** How long a write waits for an unavailable database. Milliseconds, default 30 000. */
  outageLimitMs?: number;
  /**
   * PostgreSQL's data files are used only by this program, and its user is a superuser: a restored copy of the files is
   * then detected. Default false.
   */
  ownsFiles?: boolean;
  observer?: StoreObserver;
  /**
   * Evaluates computed indexes; the caller stops it. Without one, models with such indexes can be read but not written.
   */
  keyEvaluator?: KeyEvaluator;
}

/** Timeout of the control statements, which everything waits for. Milliseconds. */
const controlTimeoutMs = 10_000;
/** Time for the server to report a statement's timeout. Milliseconds. */
const graceMs = 5_000;
/** Number of times that one write is prepared while its table keeps changing. */
const maxTables = 10;

/** Store on PostgreSQL 15 or newer, schema `platform`. Any number of processes may share one database. */
export class PostgresStore implements Store {
  readonly changes: ChangeLog;
  readonly audit: PostgresAuditLog;
  readonly quotas: PostgresQuotas;
  readonly #database: Database;
  readonly #reads: Pool;
  readonly #snapshots: Pool;
  readonly #admin: Pool;
  /** Pool for the short statements that everything waits for. */
  readonly #control: Pool;
  readonly #notifications: Notifications;
  readonly #catalog: TableCatalog;
  readonly #definer: TableDefiner;
  readonly #builder: IndexBuilder;
  readonly #batcher: WriteBatcher;
  readonly #connection: WriterConnection;
  readonly #recent: RecentObjects;
  readonly #reader: PostgresObjectReader;
  readonly #standby: StandbyReader | undefined;
  readonly #idempotencyKeys: IdempotencyKeyReader;
  readonly #computer: KeyComputer;
  readonly #compactor: Compactor;
  #closing: Promise<void> | undefined;

  /** Migrates the database and starts to follow its changes. */
  static async open(options: PostgresStoreOptions): Promise<PostgresStore> {
    await migrate(options.database, 'platform', platformMigrations);
    const store = new PostgresStore(options);
    try {
      await checkEpoch({ pool: store.#admin, log: options.log, ownsFiles: options.ownsFiles === true });
      // Before the first write, whose row would keep today from getting a partition. On a full disk there is none, and
      // a server is needed to delete objects.
      await store.audit.maintain({}).catch((error: unknown) => {
        options.log.warn({ err: error }, 'could not make partitions of the audit log; trying again later');
      });
      await store.#notifications.start();
      await store.changes.start();
      store.#builder.startLog();
      store.#builder.startOwners();
      store.#builder.startManaged();
      store.#builder.startSweep();
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  private constructor({
    database,
    readDatabase,
    log,
    readConnections = 8,
    controlConnections = 6,
    readTimeoutMs = 30_000,
    outageLimitMs = 30_000,
    ownsFiles = false,
    observer,
    keyEvaluator,
  }: PostgresStoreOptions) {
    const origin = randomUUID();
    this.#database = database;
    this.#admin = database.pool;
    this.#control = database.newPool({
      name: 'control',
      max: controlConnections,
      settings: { jit: 'off' },
      statementTimeoutMs: controlTimeoutMs,
      queryTimeoutMs: controlTimeoutMs + graceMs,
    });
    this.#reads = database.newPool({
      name: 'reads',
      max: readConnections,
      settings: listSessionSettings,
      statementTimeoutMs: readTimeoutMs,
      queryTimeoutMs: readTimeoutMs + graceMs,
    });
    this.#snapshots = database.newPool({
      name: 'snapshots',
      max: readConnections,
      settings: listSessionSettings,
      statementTimeoutMs: readTimeoutMs,
      queryTimeoutMs: readTimeoutMs + graceMs,
    });
    this.audit = new PostgresAuditLog({ database, control: this.#control, reads: this.#reads });
    this.#notifications = new Notifications({ database, log });
    this.#catalog = new TableCatalog(this.#control);
    this.#definer = new TableDefiner(this.#admin, this.#catalog);
    this.quotas = new PostgresQuotas({ pool: this.#admin, control: this.#control, definer: this.#definer });
    const large = new LargeReads(Math.max(1, readConnections / 2));
    this.#idempotencyKeys = new IdempotencyKeyReader(this.#control);
    const replicas = new ReplicaPresence({ pool: this.#control, notifications: this.#notifications, origin, log });
    this.#standby =
      readDatabase === undefined
        ? undefined
        : new StandbyReader({
            database: readDatabase,
            pool: this.#control,
            catalog: this.#catalog,
            primary: this,
            log,
            cursor: () => this.changes.cursor,
            connections: readConnections,
            statementTimeoutMs: readTimeoutMs,
            queryTimeoutMs: readTimeoutMs + graceMs,
          });
    this.changes = new ChangeLog({
      pool: this.#control,
      standby: this.#standby,
      notifications: this.#notifications,
      catalog: this.#catalog,
      replicas,
      large,
      log,
      ownsFiles,
      onGap: () => {
        for (const cache of [this.#catalog, this.#reader, this.#standby, this.#recent]) cache?.forgetAll();
      },
    });
    const tables = { feed: this.changes, large, onOldTable: (lacks: 'managed' | 'owners') => this.#complete(lacks) };
    this.#reader = new PostgresObjectReader({
      ...tables,
      reads: this.#reads,
      snapshots: this.#snapshots,
      catalog: this.#catalog,
    });
    this.#standby?.start({ ...tables, large: new LargeReads(Math.max(1, readConnections / 2)) });
    this.#computer = new KeyComputer({ evaluator: keyEvaluator, pool: this.#control, reader: this.#reader.keys });
    this.#builder = new IndexBuilder({
      database,
      pool: this.#admin,
      definer: this.#definer,
      catalog: this.#catalog,
      computer: this.#computer,
      log,
    });
    this.#connection = new WriterConnection(database);
    const runner = new BatchRunner({
      connection: this.#connection,
      pool: this.#control,
      origin,
      replicas,
      sink: this.changes,
      outageLimitMs,
      observer,
    });
    this.#batcher = new WriteBatcher(runner, outageLimitMs);
    this.#recent = new RecentObjects(this.changes);
    this.#compactor = new Compactor(database, this.#admin);
  }

  get reads(): ObjectReader {
    return this.#standby ?? this;
  }

  get rewound(): Promise<Rewind> {
    return this.changes.rewound;
  }

  async ensureModel(model: StoredModel, lockTimeoutMs?: number): Promise<void> {
    const unfinished = await translated(this.#definer.ensure(model, lockTimeoutMs));
    if (unfinished) this.#builder.start({ group: model.group, resource: model.names.plural });
  }

  async dropModel(resource: GroupResource, { ifEmpty = false } = {}): Promise<boolean> {
    const dropped = await translated(this.#definer.drop(resource, ifEmpty));
    if (typeof dropped === 'string') return dropped === 'no model';
    this.#reader.forget(dropped.id);
    this.#standby?.forget(dropped.id);
    if (!dropped.isTableGone) this.#builder.startSweep();
    return true;
  }

  async indexStates(resource: GroupResource): Promise<IndexState[]> {
    this.#catalog.forget(resource);
    const table = await translated(this.#catalog.get(resource));
    return translated(this.#builder.states(table));
  }

  get(resource: GroupResource, key: ObjectKey, readBudget?: ReadBudget): Promise<StoredObject | undefined> {
    return this.#reader.get(resource, key, readBudget);
  }

  async findRecent(resource: GroupResource, key: ObjectKey): Promise<StoredObject | undefined> {
    return this.#recent.find(await translated(this.#reader.tableOf(resource)), key);
  }

  async write(write: Write, options: StoreWriteOptions = {}): Promise<StoredObject> {
    const prepare = async (): Promise<BatchOperation> => {
      const table = await this.#reader.tableOf(write.resource);
      return table.computed === undefined ? toOperation(write, table, options) : this.#computed(table, write, options);
    };
    if (options.dryRun === true) return translated(this.#dryRun(write.resource, prepare));
    const operation = await translated(prepare());
    options.signal?.throwIfAborted();
    const revision = await translated(
      new Promise<number>((done, failed) => {
        this.#batcher.add({
          since: performance.now(),
          ...(options.requestId === undefined ? {} : { requestId: options.requestId }),
          operation,
          prepare,
          done,
          failed,
        });
      }),
    );
    return storedBy(operation, revision);
  }

  /** Tries once more with the current table if the cached one is outdated. */
  async #dryRun(resource: GroupResource, prepare: () => Promise<BatchOperation>): Promise<StoredObject> {
    for (let isLast = false; ; isLast = true) {
      const operation = await prepare();
      try {
        const failure = await explainDryRun(this.#control, operation);
        if (failure !== undefined) throw failure;
        return storedBy(operation, operation.from?.revision ?? 0);
      } catch (error) {
        if (isLast || !isStaleTable(error)) throw error;
        this.#catalog.forget(resource);
      }
    }
  }

  /** Computes the functions' keys before the batch, so that no batch waits for them. */
  async #computed(table: Table, write: Write, options: StoreWriteOptions): Promise<BatchOperation> {
    let present = table;
    for (let tries = 0; tries < maxTables; tries += 1) {
      if (present.computed === undefined) return toOperation(write, present, options);
      const computed = await this.#computer.ofWrite(present, write);
      if (computed !== undefined) return toOperation(write, present, options, computed);
      this.#catalog.forget(write.resource);
      present = await this.#catalog.get(write.resource);
    }
    throw new StorageError('KeysUnavailable', 'the functions of this model keep changing');
  }

  rememberUnchanged(idempotencyKey: IdempotencyKey, object: StoredObject): Promise<void> {
    return translated(rememberUnchanged(this.#control, idempotencyKey, object));
  }

  findRememberedWrite(idempotencyKey: IdempotencyKey, readBudget?: ReadBudget): Promise<RememberedWrite | undefined> {
    return translated(this.#idempotencyKeys.findRememberedWrite(idempotencyKey, readBudget));
  }

  page(resource: GroupResource, query: PageQuery): Promise<ObjectPage> {
    return this.#reader.page(resource, query);
  }

  chunk(resource: GroupResource, query: ChunkQuery): Promise<ObjectChunk> {
    return this.#reader.chunk(resource, query);
  }

  stream(resource: GroupResource, query: StreamQuery): Promise<ObjectStream> {
    return this.#reader.stream(resource, query);
  }

  compact(limits: CompactionLimits, signal?: AbortSignal): Promise<void> {
    return translated(this.#compactor.run(limits, signal));
  }

  runExclusively<T>(name: string, work: (held: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return runExclusively(this.#database, name, work, signal);
  }

  async ping(): Promise<void> {
    await translated(this.#control.query('SELECT'));
  }

  /** The queues and the cursor of this process. */
  state(): StoreState {
    const { totalCount, idleCount } = this.#snapshots;
    return {
      queueLength: this.#batcher.queueLength,
      queueBytes: this.#batcher.queueBytes,
      cursor: this.changes.cursor,
      snapshots: totalCount - idleCount + (this.#standby?.snapshots ?? 0),
      standby: this.#standby?.state(),
    };
  }

  /** Reads the sizes from the database. */
  measure(): Promise<StoreMeasures> {
    return translated(measureStore(this.#control));
  }

  /** Waits for the outcome of queued writes. Idempotent; the database stays open. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#batcher.close();
    await this.#builder.stop();
    this.#reader.close();
    this.#recent.close();
    await this.changes.stop();
    await this.#notifications.stop();
    await this.#connection.drop();
    await Promise.all([this.#reads.end(), this.#snapshots.end(), this.#control.end(), this.#standby?.close()]);
  }

  /** Adds to the tables what replicas of an earlier release have left out. */
  #complete(lacks: 'managed' | 'owners'): void {
    if (lacks === 'managed') this.#builder.startManaged();
    else this.#builder.startOwners();
  }
}

function storedBy(operation: BatchOperation, revision: number): StoredObject {
  const { namespace, name, body, managed, fingerprint, computed } = operation;
  const stored: StoredObject = { namespace, name, revision, body, managed, fingerprint };
  if (typeof computed?.text === 'string') stored.keys = computed.text;
  return stored;
}
