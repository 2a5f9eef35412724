import type { Client, ClientBase, Pool, PoolClient } from 'pg';
import { databaseFailure, type DatabaseFailure } from './database-failure.ts';

/** Hears what is done with the database, at once and for every statement: must be quick, and must not throw. */
export interface DatabaseObserver {
  /**
   * A statement has its answer. `operation` is its first word, `summary` what it was named for, '' for one without a
   * name; `failure` its SQLSTATE, or `lost`.
   */
  statement(operation: string, summary: string, ms: number, failure: string | undefined): void;
  /** Somebody asked a pool for a connection, and has it. */
  waited(pool: string, ms: number): void;
  /** Somebody asked a pool for a connection, and gave up. */
  timedOut(pool: string): void;
  /** The database itself did not do something: a statement, or a connection. */
  failed(failure: DatabaseFailure): void;
}

/** One pool at this moment. */
export interface PoolState {
  pool: string;
  used: number;
  idle: number;
  max: number;
  /** Who waits for a connection. */
  pending: number;
}

type Settle = (error: unknown, ...rest: unknown[]) => void;

/** Tells of every statement of a client, however its answer is taken: by promise or by callback. */
export function observeStatements(client: Client | PoolClient | ClientBase, observer: DatabaseObserver): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const observed = (...args: unknown[]): unknown => {
    const start = performance.now();
    const tell = (error: unknown): void => {
      const { operation, summary } = nameOf(args[0]);
      observer.statement(operation, summary, performance.now() - start, error == null ? undefined : failureOf(error));
      reportFailure(error, observer);
    };
    const last = args.at(-1);
    if (typeof last === 'function') {
      args[args.length - 1] = (error: unknown, ...rest: unknown[]): void => {
        tell(error);
        (last as Settle)(error, ...rest);
      };
      return query(...args);
    }
    const answer = query(...args);
    // What is no promise is a stream of rows, whose end is its reader's affair.
    if (answer instanceof Promise) answer.then(() => tell(undefined), tell);
    return answer;
  };
  client.query = observed as typeof client.query;
}

/** Tells how long connections of a pool are waited for. */
export function observeConnects(pool: Pool, name: string, observer: DatabaseObserver): void {
  const connect = pool.connect.bind(pool) as (callback?: Settle) => unknown;
  const observed = (callback?: Settle): unknown => {
    const start = performance.now();
    const tell = (error: unknown): void => {
      if (error == null) observer.waited(name, performance.now() - start);
      else {
        observer.timedOut(name);
        reportFailure(error, observer);
      }
    };
    if (callback !== undefined) {
      return connect((error, ...rest) => {
        tell(error);
        callback(error, ...rest);
      });
    }
    const connecting = connect() as Promise<unknown>;
    connecting.then(() => tell(undefined), tell);
    return connecting;
  };
  pool.connect = observed as typeof pool.connect;
}

export function reportFailure(error: unknown, observer: DatabaseObserver): void {
  const failure = databaseFailure(error);
  if (failure !== undefined) observer.failed(failure);
}

export function poolState(pool: Pool, name: string): PoolState {
  const { totalCount, idleCount, waitingCount, options } = pool;
  return { pool: name, used: totalCount - idleCount, idle: idleCount, max: options.max, pending: waitingCount };
}

interface StatementName {
  operation: string;
  summary: string;
}

const operations = new Set([
  'ALTER',
  'BEGIN',
  'CLOSE',
  'COMMIT',
  'CREATE',
  'DECLARE',
  'DELETE',
  'DROP',
  'FETCH',
  'INSERT',
  'LISTEN',
  'ROLLBACK',
  'SELECT',
  'SET',
  'UPDATE',
  'VACUUM',
  'WITH',
]);
const maxNames = 10_000;
/** Of statements that have a name, which differ in a number at most: one for each table. */
const known = new Map<string, StatementName>();

function nameOf(config: unknown): StatementName {
  if (typeof config === 'string') return { operation: operationOf(config), summary: '' };
  const { name, text } = config as { name?: unknown; text?: unknown };
  const operation = typeof text === 'string' ? text : '';
  if (typeof name !== 'string') return { operation: operationOf(operation), summary: '' };
  let found = known.get(name);
  if (found === undefined) {
    if (known.size >= maxNames) known.clear();
    known.set(name, (found = { operation: operationOf(operation), summary: name.replace(/-?\d+$/, '') }));
  }
  return found;
}

function operationOf(text: string): string {
  const word = /^\s*([A-Za-z]{1,16})/.exec(text.slice(0, 64))?.[1]?.toUpperCase() ?? '';
  return operations.has(word) ? word : 'OTHER';
}

/**
 * A server's refusal has five letters and digits; anything else is a connection that broke, or an answer that did not
 * come.
 */
function failureOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : 'lost';
}
