import type { Client, QueryConfig, QueryResult } from 'pg';
import { endClient, type Database } from '#pkg/database/index';
import type { BatchStatement } from './batch-statement.ts';

/** Maximum number of prepared statements; beyond it the connection is reopened, because a server never drops one. */
const maxPrepared = 128;
/** Longer than the server's timeout for a batch: a later answer will never arrive. Milliseconds. */
const answerTimeoutMs = 15_000;
/**
 * How long a statement's plan is used: it depends on the table sizes at planning time, and tables may grow fast.
 * Milliseconds.
 */
const maxPlanAgeMs = 5000;
/**
 * One generic plan for all calls of a statement, created at the first call: the calls are alike, whatever their values.
 * No plan reads a table whole: one that was made when the table was small would stay, also in functions.
 * Read committed, whatever the default, so that a statement sees what was committed before it acquired the lock.
 */
const settings = [
  'SET jit = off',
  'SET plan_cache_mode = force_generic_plan',
  'SET enable_seqscan = off',
  'SET statement_timeout = 10000',
  'SET lock_timeout = 5000',
  'SET idle_in_transaction_session_timeout = 10000',
  "SET default_transaction_isolation = 'read committed'",
];

/** Identifies one session of the server uniquely: process ids are reused. */
export interface Session {
  pid: number;
  /** The server's text, with microseconds. */
  startedAt: string;
}

/** The only connection that writes. It opens itself at first use and after every loss. */
export class WriterConnection {
  readonly #database: Database;
  #client: Client | undefined;
  #session: Session | undefined;
  readonly #names = new Map<string, string>();
  #replanAt = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The session that ran the last statement, to check its end after a connection loss. */
  get session(): Session | undefined {
    return this.#session;
  }

  async run<Row extends object>(statement: BatchStatement): Promise<QueryResult<Row>> {
    if (this.#names.size >= maxPrepared) await this.drop();
    const client = this.#client ?? (await this.#open());
    if (performance.now() > this.#replanAt) {
      await client.query(limitedQuery('DISCARD PLANS'));
      this.#replanAt = performance.now() + maxPlanAgeMs;
    }
    const name = this.#names.get(statement.text) ?? `write-${this.#names.size}`;
    this.#names.set(statement.text, name);
    const query = { name, text: statement.text, values: statement.values, query_timeout: answerTimeoutMs };
    return client.query<Row>(query);
  }

  /** The next statement opens a new connection. */
  async drop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#names.clear();
    // The server may be gone silently: do not wait for it.
    if (client !== undefined) await endClient(client);
  }

  async #open(): Promise<Client> {
    const client = await this.#database.newClient('writer');
    try {
      for (const text of settings) await client.query(limitedQuery(text));
      const { rows } = await client.query<{ pid: number; started_at: string }>(
        limitedQuery(
          'SELECT pid, backend_start::text AS started_at FROM pg_stat_activity WHERE pid = pg_backend_pid()',
        ),
      );
      const row = rows[0];
      if (row === undefined) throw new Error('pg_stat_activity does not show this session');
      this.#session = { pid: row.pid, startedAt: row.started_at };
      this.#replanAt = performance.now() + maxPlanAgeMs;
    } catch (error) {
      await endClient(client);
      throw error;
    }
    client.once('end', () => {
      if (this.#client === client) {
        this.#client = undefined;
        this.#names.clear();
      }
    });
    this.#client = client;
    return client;
  }
}

/** `query_timeout` is missing in the types of pg. */
function limitedQuery(text: string): QueryConfig {
  const config: QueryConfig & { query_timeout: number } = { text, query_timeout: answerTimeoutMs };
  return config;
}
