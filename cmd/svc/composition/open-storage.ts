import type pg from 'pg';
import type { Logger } from 'pino';
import { accessMigrations } from '#pkg/access/index';
import {
  Database,
  DatabaseError,
  failureSentence,
  migrate,
  openDatabase,
  waitForDatabase,
  WriteMonitor,
  type DatabaseObserver,
  type OpenedDatabase,
} from '#pkg/database/index';
import { NotReadyError, type HealthCheck } from '#pkg/http/index';
import { PostgresStore, type KeyEvaluator, type StandbyState, type StoreObserver } from '#pkg/storage/index';
import { connectionsOf, type PoolSizes } from './pool-sizes.ts';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';
import type { Teardown } from '../process/teardown.ts';

/** Connections of an embedded PostgreSQL for operators and commands. */
const spareConnections = 11;
/** A server whose standby is this far behind should get no requests. Milliseconds. */
const maxLagMs = 5000;
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

/** The standby of the options that answers reads, if they name one. */
export async function openReadDatabase(
  options: Options,
  { log, teardown, observer, applicationName }: OpenStorageParts<DatabaseObserver>,
): Promise<Database | undefined> {
  const url = options['svc.database.read-url'];
  const urlFile = options['svc.database.read-url-file'];
  const caFile = options['svc.database.ca-file'];
  if (url === undefined) return undefined;
  const database = await Database.connect({
    url,
    ...(urlFile === undefined ? {} : { urlFile }),
    ...(caFile === undefined ? {} : { caFile }),
    // The store opens pools of its own.
    poolSize: 1,
    mayBeAway: true,
    log,
    ...(observer === undefined ? {} : { observer }),
    ...(applicationName === undefined ? {} : { applicationName }),
  }).catch((error: unknown) => {
    throw error instanceof DatabaseError
      ? new OperatorError(`svc.database.read-url: ${error.message}`, { cause: error })
      : error;
  });
  teardown.add('database for reads', () => database.close());
  return database;
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

/** The check of `/readyz` of a server that reads from a standby: others may have one that is not behind. */
export function standbyCheck(state: () => StandbyState | undefined): HealthCheck {
  return {
    name: 'standby',
    check: async () => {
      const lagMs = state()?.lagMs ?? 0;
      if (lagMs > maxLagMs)
        throw new NotReadyError(
          `the standby that answers reads was last seen with everything that the primary had ${Math.round(lagMs / 1000)} s ago`,
        );
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
    readDatabase,
  }: OpenStorageParts<StoreObserver> & {
    keyEvaluator?: KeyEvaluator;
    connections?: PoolSizes | undefined;
    readDatabase?: Database | undefined;
  },
): Promise<PostgresStore> {
  await migrate(database, 'access', accessMigrations);
  const store = await PostgresStore.open({
    database,
    readDatabase,
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
