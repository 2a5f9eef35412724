import { hostname } from 'node:os';
import type { Kysely } from 'kysely';
import pg from 'pg';
import { choosingClient } from './connection/choosing-client.ts';
import { connectionConfig } from './connection/connection-config.ts';
import { credentialsClient, retryRefusedConnects } from './credentials/credentials-client.ts';
import { CredentialsFile } from './credentials/credentials-file.ts';
import { DatabaseError, messageOf } from './database-error.ts';
import { isConnectionUsable, isTransientConnectFailure } from './database-failure.ts';
import {
  observeConnects,
  observeStatements,
  poolState,
  reportFailure,
  type DatabaseObserver,
  type PoolState,
} from './database-observer.ts';
import { HostSelector } from './connection/host-selector.ts';
import { replaceConnect } from './connection/replace-connect.ts';
import type { DatabaseLog } from './log.ts';
import { newKysely } from './new-kysely.ts';
import { settledWithin } from './settled-within.ts';
import { refuseUnconfirmedCommits } from './unconfirmed-commit.ts';
import { waitForDatabase } from './wait-for-database.ts';

const oldestSupportedMajor = 15;
const closeTimeoutMs = 5_000;
/**
 * Overrides the default of the database or role: after a lock wait, a statement must see what was committed meanwhile.
 */
const sessionSettings: Readonly<Record<string, string>> = { default_transaction_isolation: 'read committed' };

export interface DatabaseOptions {
  /** `postgres://...`; either this or `connection`. For TLS see `connectionConfig`. */
  readonly url?: string;
  /** The file that holds the url: its user and password are read again for each new connection. */
  readonly urlFile?: string;
  /** Authority of the server's certificate, with a url: a file in PEM form. */
  readonly caFile?: string;
  readonly connection?: pg.ClientConfig;
  readonly log: DatabaseLog;
  /** The first words of `application_name`, before pool and process; `svc` by default. */
  readonly applicationName?: string;
  /** Connections of the main pool; 10 by default. */
  readonly poolSize?: number;
  /** How long one statement of the main pool may take, in milliseconds; unlimited by default. */
  readonly statementTimeoutMs?: number;
  /** Timeout of an answer in the main pool, in milliseconds; unlimited by default: see `PoolOptions`. */
  readonly queryTimeoutMs?: number;
  /** How long to wait for a connection, in milliseconds; 10 000 by default. */
  readonly connectionTimeoutMs?: number;
  /** How long `connect` retries while PostgreSQL is unreachable or starting. Milliseconds, default 0. */
  readonly startTimeoutMs?: number;
  /** `connect` succeeds also while PostgreSQL is unreachable; its version is not checked then. Default: false. */
  readonly mayBeAway?: boolean;
  readonly observer?: DatabaseObserver;
}

export interface PoolOptions {
  /** For the observer and `application_name`; `main` by default. Pools may share a name. */
  readonly name?: string;
  readonly max: number;
  /** Session settings, in force before the first statement: `{ enable_seqscan: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly statementTimeoutMs?: number;
  /** Timeout of an answer on the client's side: the only way to notice a connection that has gone silent. */
  readonly queryTimeoutMs?: number;
  /** Runs each time that a connection is taken. If it rejects, so does the caller's statement. */
  readonly beforeUse?: (client: pg.ClientBase) => Promise<void>;
}

/**
 * One PostgreSQL database: a pool, kysely over the same pool, and further pools and clients; `close` closes all of
 * them.
 *
 * `bigint` columns and `count(*)` arrive as strings, as everywhere in `pg`: a number would lose digits beyond 2^53. A
 * lost connection fails its running statement and is logged; it never ends the process.
 *
 * PostgreSQL shows every connection with its pool and process as `application_name`: `svc apiserver reads 4711@web-1`.
 */
export class Database {
  readonly pool: pg.Pool;
  /** Knows no tables; give it yours: `database.kysely.withTables<Tables>()`. */
  readonly kysely: Kysely<unknown>;
  // Not `#`: tests derive a database from this one.
  private readonly config: pg.ClientConfig;
  private readonly clientClass: typeof pg.Client = pg.Client;
  private readonly credentials: CredentialsFile | undefined;
  private readonly applicationName: string;
  private readonly log: DatabaseLog;
  private readonly observer: DatabaseObserver | undefined;
  private readonly pools = new Map<pg.Pool, string>();
  private readonly clients = new Set<pg.Client>();
  private closing: Promise<void> | undefined;

  private constructor(options: DatabaseOptions) {
    this.log = options.log;
    this.observer = options.observer;
    this.applicationName = options.applicationName ?? 'svc';
    const { config, hosts } =
      options.url === undefined
        ? { config: options.connection, hosts: undefined }
        : connectionConfig(options.url, { caFile: options.caFile, log: options.log });
    this.config = {
      ...config,
      connectionTimeoutMillis: options.connectionTimeoutMs ?? 10_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    };
    if (options.url !== undefined && options.urlFile !== undefined) {
      const parse = (url: string): string =>
        connectionConfig(url, { caFile: options.caFile, log: options.log }).config.connectionString!;
      this.credentials = new CredentialsFile({ file: options.urlFile, url: options.url, parse, log: options.log });
      this.clientClass = credentialsClient(this.credentials);
    }
    if (hosts !== undefined) {
      const probe = { ...this.config, application_name: connectionName(this.applicationName, 'hosts') };
      const selector = new HostSelector(hosts, this.clientClass, probe, this.log);
      this.clientClass = choosingClient(this.clientClass, selector, hosts.target);
    }
    this.pool = this.newPool({
      max: options.poolSize ?? 10,
      ...(options.statementTimeoutMs === undefined ? {} : { statementTimeoutMs: options.statementTimeoutMs }),
      ...(options.queryTimeoutMs === undefined ? {} : { queryTimeoutMs: options.queryTimeoutMs }),
    });
    this.kysely = newKysely(this.pool);
  }

  /** Opens a database and checks its version. Throws DatabaseError after closing everything. */
  static async connect(options: DatabaseOptions): Promise<Database> {
    if ((options.url === undefined) === (options.connection === undefined)) {
      throw new DatabaseError('A database needs either a url or a connection.');
    }
    const database = new Database(options);
    try {
      await waitForDatabase(() => database.checkVersion(), {
        timeoutMs: options.startTimeoutMs ?? 0,
        log: options.log,
        message: 'PostgreSQL cannot be reached; trying again',
        isTemporary: isTransientConnectFailure,
      });
      return database;
    } catch (error) {
      if (options.mayBeAway === true && isTransientConnectFailure(error)) {
        options.log.warn({ why: messageOf(error) }, 'PostgreSQL cannot be reached; going on without it');
        return database;
      }
      await database.close();
      if (error instanceof DatabaseError) throw error;
      throw new DatabaseError(`PostgreSQL cannot be reached: ${messageOf(error)}.`, { cause: error });
    }
  }

  /** Refuses a server older than PostgreSQL 15. */
  async checkVersion(): Promise<void> {
    const { rows } = await this.pool.query<{ server_version_num: string; server_version: string }>(
      "SELECT current_setting('server_version_num') AS server_version_num, current_setting('server_version') AS server_version",
    );
    const version = rows[0];
    if (version === undefined || Number(version.server_version_num) < oldestSupportedMajor * 10_000) {
      throw new DatabaseError(
        `PostgreSQL ${oldestSupportedMajor} or newer is needed; this server is ${version?.server_version ?? 'unknown'}.`,
      );
    }
  }

  /** A separate pool, for statements that need other session settings or must not wait behind others. */
  newPool(options: PoolOptions): pg.Pool {
    this.refuseWhenClosed();
    const { name = 'main' } = options;
    const settings = { ...sessionSettings, ...options.settings };
    const pool = new pg.Pool({
      ...this.config,
      Client: this.clientClass,
      application_name: connectionName(this.applicationName, name),
      max: options.max,
      ...(options.statementTimeoutMs === undefined ? {} : { statement_timeout: options.statementTimeoutMs }),
      ...(options.queryTimeoutMs === undefined ? {} : { query_timeout: options.queryTimeoutMs }),
      verify: (client, done) => {
        void applySettings(client, settings, done);
      },
    });
    // Without these listeners a connection lost while idle, or between two statements of a transaction, ends the
    // process.
    pool.on('error', (error) => this.lost(error, 'lost an idle database connection'));
    pool.on('connect', (client) => {
      client.on('error', () => {});
      refuseUnconfirmedCommits(client);
    });
    for (const [each] of this.pools) if (each.ended) this.pools.delete(each);
    this.pools.set(pool, name);
    if (this.credentials !== undefined) retryRefusedConnects(pool, this.credentials);
    if (this.observer !== undefined) this.observe(pool, name, this.observer);
    if (options.beforeUse !== undefined) checkBeforeUse(pool, options.beforeUse);
    return pool;
  }

  /** The states of all open pools. */
  poolStates(): PoolState[] {
    return [...this.pools].filter(([pool]) => !pool.ended).map(([pool, name]) => poolState(pool, name));
  }

  private observe(pool: pg.Pool, name: string, observer: DatabaseObserver): void {
    pool.on('connect', (client) => observeStatements(client, observer));
    observeConnects(pool, name, observer);
  }

  /**
   * A connected client outside the pools, for LISTEN or session locks. The caller ends it; otherwise `close` does.
   * `application_name` shows `name`, where pools have theirs.
   */
  async newClient(name = 'session'): Promise<pg.Client> {
    this.refuseWhenClosed();
    const connect = (): Promise<pg.Client> => this.connectClient(name);
    try {
      return await (this.credentials === undefined ? connect() : this.credentials.withRetries(connect));
    } catch (error) {
      if (this.observer !== undefined) reportFailure(error, this.observer);
      throw error;
    }
  }

  private async connectClient(name: string): Promise<pg.Client> {
    const client = new this.clientClass({
      ...this.config,
      application_name: connectionName(this.applicationName, name),
    });
    client.on('error', (error) => this.lost(error, 'lost a dedicated database connection'));
    client.once('end', () => this.clients.delete(client));
    this.clients.add(client);
    refuseUnconfirmedCommits(client);
    if (this.observer !== undefined) observeStatements(client, this.observer);
    try {
      await client.connect();
    } catch (error) {
      this.clients.delete(client);
      throw error;
    }
    return client;
  }

  /** Ends every pool and client; waits at most 5 s for running statements. Idempotent. */
  close(): Promise<void> {
    this.closing ??= this.closeAll();
    return this.closing;
  }

  private async closeAll(): Promise<void> {
    const ends = [
      ...[...this.pools.keys()].map((pool) => pool.end()),
      ...[...this.clients].map((client) => client.end()),
    ];
    if (!(await settledWithin(Promise.allSettled(ends), closeTimeoutMs))) {
      this.log.warn({}, 'some database connections were still in use when the database was closed');
    }
  }

  /** Not logged while `close` closes the connections. */
  private lost(error: Error, message: string): void {
    if (this.closing === undefined) this.log.warn({ err: error }, message);
  }

  private refuseWhenClosed(): void {
    if (this.closing !== undefined) throw new DatabaseError('The database is closed.');
  }
}

function checkBeforeUse(pool: pg.Pool, check: (client: pg.ClientBase) => Promise<void>): void {
  replaceConnect(pool, async (connect) => {
    const client = await connect();
    try {
      await check(client);
    } catch (error) {
      client.release(!isConnectionUsable(error));
      throw error;
    }
    return client;
  });
}

/** PostgreSQL keeps 63 bytes, and replaces what is not ASCII by question marks. */
function connectionName(application: string, pool: string): string {
  return `${application} ${pool} ${process.pid}@${hostname()}`.slice(0, 63);
}

async function applySettings(
  client: pg.ClientBase,
  settings: Readonly<Record<string, string>>,
  done: (error?: Error) => void,
): Promise<void> {
  try {
    await client.query(
      'SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS setting(name, value)',
      [Object.keys(settings), Object.values(settings)],
    );
  } catch (error) {
    done(error as Error);
    return;
  }
  done();
}
