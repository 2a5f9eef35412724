import type { Pool, PoolClient } from 'pg';
import { StorageError } from '../storage-error.ts';
import type { ObjectStream, StoredObject, StreamQuery } from '../store.ts';
import { compileList, objectColumns, storedObject, type ObjectRow } from './list-query.ts';
import { orderBy } from './query-compiler.ts';
import type { Table } from './table.ts';

/** What is fetched at a time, in bytes of bodies, more or less. */
const fetchBytes = 2 * 1024 * 1024;
const firstFetch = 64;
const maxFetch = 1000;
/** A snapshot held longer would keep PostgreSQL from cleaning up. Milliseconds. */
const snapshotTime = 60_000;

/** Whole lists, of whatever length, in constant memory. */
export class StreamReader {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async read(table: Table, query: StreamQuery): Promise<ObjectStream> {
    const list = compileList(table, query, 'ordered');
    const order = query.order === 'revision' ? 't.rev' : orderBy(list.order);
    const client = await this.#pool.connect();
    const stream = new CursorStream(client);
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 60000');
      const { rows } = await client.query<{ revision: string }>('SELECT max(rev) AS revision FROM platform.change_log');
      await client.query(`DECLARE objects NO SCROLL CURSOR FOR SELECT ${objectColumns} FROM ${list.from} WHERE ${list.where} ORDER BY ${order}`, list.parameters.values);
      return { revision: Number(rows[0]!.revision), objects: stream.objects(), close: () => stream.close() };
    } catch (error) {
      await stream.close();
      throw error;
    }
  }
}

class CursorStream {
  readonly #client: PoolClient;
  readonly #timer: NodeJS.Timeout;
  #closing: Promise<void> | undefined;
  #expired = false;

  constructor(client: PoolClient) {
    this.#client = client;
    this.#timer = setTimeout(() => {
      this.#expired = true;
      void this.close();
    }, snapshotTime);
    this.#timer.unref();
  }

  async *objects(): AsyncGenerator<StoredObject[]> {
    let size = firstFetch;
    try {
      for (;;) {
        if (this.#expired) throw new StorageError('Timeout', 'the list took longer than its snapshot may be held');
        const { rows } = await this.#client.query<ObjectRow>(`FETCH ${size} FROM objects`);
        if (rows.length > 0) yield rows.map(storedObject);
        if (rows.length < size) return;
        const average = rows.reduce((sum, row) => sum + row.body.length, 0) / rows.length;
        size = Math.max(1, Math.min(maxFetch, Math.floor(fetchBytes / Math.max(average, 1))));
      }
    } finally {
      await this.close();
    }
  }

  /** Idempotent. A connection that cannot be rolled back is not used again. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer);
    try {
      await this.#client.query('ROLLBACK');
      this.#client.release();
    } catch (error) {
      this.#client.release(error instanceof Error ? error : true);
    }
  }
}
