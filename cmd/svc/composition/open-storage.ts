import type pg from 'pg';
import type { Logger } from 'pino';
import { accessMigrations } from '#pkg/access/index';
import {
  failureSentence,
  migrate,
  openDatabase,
  waitForDatabase,
  WriteMonitor,
  type Database,
  type DatabaseObserver,
  type OpenedDatabase,
} from '#pkg/database/index';
import { NotReadyError, type HealthCheck } from '#pkg/http/index';
import { PostgresStore, type KeyEvaluator, type StoreObserver } from '#pkg/storage/index';
import { connectionsOf, type ConnectionShares } from './connection-shares.ts';
import type { Options } from '../options/option-table.ts';
import type { Teardown } from '../process/teardown.ts';

/** Connections of an embedded PostgreSQL for operators and commands. */
const spareConnections = 11;
/** The longest statements create and drop tables. */
const statementTimeoutMs = 60_000;

interface OpenStorageParts<Observer> {
  log: Logger;
  teardown: Teardown;
  observer?: Observer;
  /** As for `Database`: the first words of `application_name`. */
  applicationName?: string;
  /** How long to wait for a server that does not respond yet. Milliseconds; default 0. */
  startTimeoutMs?: number;
}

interface OpenDatabaseParts extends OpenStorageParts<DatabaseObserver> {
  /** See `OpenDatabaseOptions`. */
  embedded?: pg.ClientConfig | undefined;
  /** Connections of an embedded PostgreSQL that this process starts. Default: those of one server. */
  connections?: number;
}

/** The database of the options, or an embedded one. */
export async function openPlatformDatabase(options: Options, parts: OpenDatabaseParts): Promise<Database> {
  return (await openPlatformPostgres(options, parts)).database;
}

/** The same, with the way to it for other processes, if it is embedded. */
export async function openPlatformPostgres(
  options: Options,
  {
    log,
    teardown,
    observer,
    applicationName,
    startTimeoutMs,
    embedded,
    connections = connectionsOf({ poolSize: options['svc.database.pool-size'], workers: 1 }),
  }: OpenDatabaseParts,
): Promise<Omit<OpenedDatabase, 'stop'>> {
  const url = options['svc.database.url'];
  const urlFile = options['svc.database.url-file'];
  const caFile = options['svc.database.ca-file'];
  const opened = await openDatabase({
    ...(url === undefined ? {} : { url }),
    ...(urlFile === undefined ? {} : { urlFile }),
    ...(caFile === undefined ? {} : { caFile }),
    embedded,
    dataDir: options['svc.data.dir'],
    poolSize: options['svc.database.pool-size'],
    statementTimeoutMs,
    queryTimeoutMs: statementTimeoutMs + 5_000,
    // A restore creates the tables of all models in one transaction, with nine locks each.
    settings: {
      max_connections: String(connections + spareConnections),
      max_locks_per_transaction: '512',
    },
    log,
    ...(observer === undefined ? {} : { observer }),
    ...(applicationName === undefined ? {} : { applicationName }),
    ...(startTimeoutMs === undefined ? {} : { startTimeoutMs }),
  });
  teardown.add('database', () => opened.stop());
  return opened;
}

/**
 * Runs a part of the start that needs the database. While that is away or busy it is tried again, as long as a start
 * waits for the database.
 */
export function startWithDatabase<T>(options: Options, log: Logger, start: () => Promise<T>): Promise<T> {
  return waitForDatabase(start, {
    timeoutMs: options['svc.database.start-timeout'],
    log,
    message: 'the database is away or busy; trying the start again',
  });
}

/** Monitors from now on whether PostgreSQL accepts writes: a migration may already wait for that. */
export function startWriteMonitor(
  database: Database,
  { log, teardown }: Pick<OpenStorageParts<never>, 'log' | 'teardown'>,
): WriteMonitor {
  const monitor = new WriteMonitor({ database, log });
  monitor.start();
  teardown.add('write monitor', () => monitor.stop());
  return monitor;
}

/**
 * The check of `/readyz`. Excluded for load balancers: no other replica accepts writes either, and all can still serve
 * reads.
 */
export function writesCheck(monitor: WriteMonitor): HealthCheck {
  return {
    name: 'writes',
    check: async () => {
      const { refusal } = monitor;
      if (refusal !== undefined) throw new NotReadyError(failureSentence(refusal));
    },
  };
}

/** The store, after both schemas were migrated. */
export async function openStorage(
  database: Database,
  options: Options,
  {
    log,
    teardown,
    observer,
    keyEvaluator,
    connections,
  }: OpenStorageParts<StoreObserver> & { keyEvaluator?: KeyEvaluator; connections?: ConnectionShares | undefined },
): Promise<PostgresStore> {
  await migrate(database, 'access', accessMigrations);
  const store = await PostgresStore.open({
    database,
    log,
    ...(keyEvaluator === undefined ? {} : { keyEvaluator }),
    ...(observer === undefined ? {} : { observer }),
    ...(connections === undefined
      ? {}
      : { readConnections: connections.reads, controlConnections: connections.control }),
    readTimeoutMs: options['svc.api.request-timeout'],
    ownsFiles: options['svc.database.url'] === undefined,
  });
  teardown.add('store', () => store.close());
  return store;
}
