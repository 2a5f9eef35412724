import type { Client, ClientBase, Pool, PoolClient } from 'pg';
import { databaseFailure, type DatabaseFailure } from './database-failure.ts';

/** Called for each statement and connection, synchronously: must be fast and must not throw. */
export interface DatabaseObserver {
  /**
   * A statement was answered. `operation` is its first word, `summary` its name without a number ('' if it has none),
   * `failure` its SQLSTATE, or `lost`.
   */
  statement(operation: string, summary: string, ms: number, failure: string | undefined): void;
  /** A caller got a connection from a pool. */
  waited(pool: string, ms: number): void;
  /** A caller did not get a connection from a pool. */
  timedOut(pool: string): void;
  /** A statement or a connection failed because of the database itself. */
  failed(failure: DatabaseFailure): void;
}

/** One pool at this moment. */
export interface PoolState {
  pool: string;
  used: number;
  idle: number;
  max: number;
  /** Callers that wait for a connection. */
  pending: number;
}

type Settle = (error: unknown, ...rest: unknown[]) => void;

/** Reports every statement of a client to the observer, whether by promise or by callback. */
export function observeStatements(client: Client | PoolClient | ClientBase, observer: DatabaseObserver): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const observed = (...args: unknown[]): unknown => {
    const start = performance.now();
    const report = (error: unknown): void => {
      const { operation, summary } = nameOf(args[0]);
      observer.statement(operation, summary, performance.now() - start, error == null ? undefined : failureOf(error));
      reportFailure(error, observer);
    };
    const last = args.at(-1);
    if (typeof last === 'function') {
      args[args.length - 1] = (error: unknown, ...rest: unknown[]): void => {
        report(error);
        (last as Settle)(error, ...rest);
      };
      return query(...args);
    }
    const answer = query(...args);
    // Any other result is a stream of rows, which its reader handles.
    if (answer instanceof Promise) answer.then(() => report(undefined), report);
    return answer;
  };
  client.query = observed as typeof client.query;
}

/** Reports how long callers wait for a connection of a pool. */
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
/** Named statements. Names differ at most in a number: one per table. */
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

/** A SQLSTATE has five letters and digits; any other error is a broken connection or a missing answer. */
function failureOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : 'lost';
}
