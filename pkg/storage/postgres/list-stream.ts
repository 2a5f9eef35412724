import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { StorageError } from '../storage-error.ts';
import type { ObjectStream, StoredObject, StreamQuery } from '../store.ts';
import { compileList, objectColumns, storedObject, type ObjectRow } from './list-query.ts';
import { orderBy } from './query-compiler.ts';
import type { Table } from './table.ts';

/** What is fetched at a time, in bytes of bodies, more or less. */
const fetchBytes = 2 * 1024 * 1024;
/** A list no longer than this is read whole, and holds nothing while its reader takes it. */
const shortList = 100;
const maxFetch = 1000;
/** A snapshot held longer would keep PostgreSQL from cleaning up. Milliseconds. */
const snapshotTime = 60_000;

interface FirstRow extends ObjectRow {
  revision: string;
}

/** Whole lists, of whatever length, in constant memory. */
export class StreamReader {
  readonly #reads: Pool;
  readonly #snapshots: Pool;
  readonly #patience: number;

  /** `snapshots` are held at the pace of whoever reads a long list: they are apart, so that nothing else waits for them. `patience`: for one to become free, in milliseconds. */
  constructor(reads: Pool, snapshots: Pool, patience = 5000) {
    this.#reads = reads;
    this.#snapshots = snapshots;
    this.#patience = patience;
  }

  async read(table: Table, query: StreamQuery): Promise<ObjectStream> {
    return (await this.#short(table, query)) ?? this.#long(table, query);
  }

  async #short(table: Table, query: StreamQuery): Promise<ObjectStream | undefined> {
    const { text, values } = selectText(table, query);
    const { rows } = await this.#reads.query<FirstRow>(
      `WITH found AS MATERIALIZED (${text} LIMIT ${shortList + 1}) SELECT h.revision, found.* ` +
        'FROM (SELECT max(rev) AS revision FROM platform.change_log) h LEFT JOIN found ON true',
      values,
    );
    if (rows.length > shortList) return undefined;
    const objects = rows.filter((row) => row.rev !== null).map(storedObject);
    return { revision: Number(rows[0]!.revision), objects: once(objects), close: async () => {} };
  }

  async #long(table: Table, query: StreamQuery): Promise<ObjectStream> {
    const { text, values } = selectText(table, query);
    const client = await this.#connect();
    const stream = new CursorStream(client);
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 60000');
      const { rows } = await client.query<{ revision: string }>('SELECT max(rev) AS revision FROM platform.change_log');
      await client.query(`DECLARE objects NO SCROLL CURSOR FOR ${text}`, values);
      return { revision: Number(rows[0]!.revision), objects: stream.objects(), close: () => stream.close() };
    } catch (error) {
      await stream.close();
      throw error;
    }
  }

  /** A client that reads nothing holds its snapshot until that expires: others wait a while, and are told to come back. */
  async #connect(): Promise<PoolClient> {
    const connecting = this.#snapshots.connect();
    const late = new AbortController();
    try {
      return await Promise.race([connecting, delay(this.#patience, undefined, { signal: late.signal }).then(() => Promise.reject(overloaded()))]);
    } catch (error) {
      connecting.then((client) => client.release(), () => undefined);
      throw error;
    } finally {
      late.abort();
    }
  }
}

function overloaded(): StorageError {
  return new StorageError('Overloaded', 'too many long lists are being read: try again later');
}

function selectText(table: Table, query: StreamQuery): { text: string; values: unknown[] } {
  const list = compileList(table, query, 'ordered');
  const order = query.order === 'revision' ? 't.rev' : orderBy(list.order);
  return { text: `SELECT ${objectColumns} FROM ${list.from} WHERE ${list.where} ORDER BY ${order}`, values: list.parameters.values };
}

async function* once(objects: StoredObject[]): AsyncGenerator<StoredObject[]> {
  if (objects.length > 0) yield objects;
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
    let size = shortList;
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
