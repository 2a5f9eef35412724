import type { Client, QueryConfig, QueryResult } from 'pg';
import { endClient, type Database } from '#pkg/database/index';
import type { BatchStatement } from './batch-statement.ts';

/** Statements kept prepared; past that the connection is made anew, since a server never forgets one. */
const maxPrepared = 128;
/** Longer than the server lets a batch take: an answer that does not come by then does not come. Milliseconds. */
const answerTime = 15_000;
/**
 * How long a statement's plan is used: it rests on how large its tables were when it was made, and they may grow fast.
 * Milliseconds.
 */
const planAge = 5000;
/**
 * One plan for all calls of a statement, made at the first: they are alike, whatever their values. What was committed
 * before the lock was won is to be seen, whatever the default.
 */
const settings = [
  'SET jit = off',
  'SET plan_cache_mode = force_generic_plan',
  'SET statement_timeout = 10000',
  'SET lock_timeout = 5000',
  'SET idle_in_transaction_session_timeout = 10000',
  "SET default_transaction_isolation = 'read committed'",
];

/** Names one session of the server for good: a process id alone is used again. */
export interface Session {
  pid: number;
  /** As the server's text, with microseconds. */
  startedAt: string;
}

/** The one connection that writes. It opens itself at first use and after every loss. */
export class WriterConnection {
  readonly #database: Database;
  #client: Client | undefined;
  #session: Session | undefined;
  readonly #names = new Map<string, string>();
  #replanAt = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The session that ran the last statement; what became of it is to be asked after a loss. */
  get session(): Session | undefined {
    return this.#session;
  }

  async run<Row extends object>(statement: BatchStatement): Promise<QueryResult<Row>> {
    if (this.#names.size >= maxPrepared) await this.drop();
    const client = this.#client ?? (await this.#open());
    if (performance.now() > this.#replanAt) {
      await client.query(limitedQuery('DISCARD PLANS'));
      this.#replanAt = performance.now() + planAge;
    }
    const name = this.#names.get(statement.text) ?? `write-${this.#names.size}`;
    this.#names.set(statement.text, name);
    const query = { name, text: statement.text, values: statement.values, query_timeout: answerTime };
    return client.query<Row>(query);
  }

  /** The next statement opens a new connection. */
  async drop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#names.clear();
    // The other end may be gone without a word: it is not waited for.
    if (client !== undefined) await endClient(client);
  }

  async #open(): Promise<Client> {
    const client = await this.#database.newClient();
    try {
      for (const text of settings) await client.query(limitedQuery(text));
      const { rows } = await client.query<{ pid: number; started_at: string }>(
        limitedQuery(
          'SELECT pid, backend_start::text AS started_at FROM pg_stat_activity WHERE pid = pg_backend_pid()',
        ),
      );
      const row = rows[0];
      if (row === undefined) throw new Error('the database does not show this session');
      this.#session = { pid: row.pid, startedAt: row.started_at };
      this.#replanAt = performance.now() + planAge;
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

/** The time limit for an answer is not among pg's types. */
function limitedQuery(text: string): QueryConfig {
  const config: QueryConfig & { query_timeout: number } = { text, query_timeout: answerTime };
  return config;
}
