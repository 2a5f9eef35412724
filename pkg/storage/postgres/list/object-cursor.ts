import type { ObjectKey } from '#pkg/apimachinery/index';
import type { ReadBudget } from '../../read-budget.ts';
import { StorageError } from '../../storage-error.ts';
import type { StoredObject } from '../../store.ts';
import type { LargeReads } from '../connection/large-reads.ts';
import { hasRowBody, storedObject, type BriefRow, type ObjectRow } from './list-query.ts';
import { snapshotTimeoutMs, type Snapshot } from './snapshots.ts';
import { inlineColumns, managedSql, sizeSql } from '../table/managed-column.ts';
import { tableName, type Table } from '../table/table.ts';

/** Approximate bytes of bodies in memory at a time. */
export const pieceBytes = 1024 * 1024;
/** A larger body is not fetched with its row, because a fetch can limit only the number of rows. */
const inlineBytes = 8192;
const firstFetch = 100;
const maxFetch = 1000;

/** Select list of an object's columns, for rows of a cursor. */
export function cursorColumns(table: Table): string {
  return `t.namespace, t.name, t.rev, t.fingerprint, ${sizeSql(table, 't')} AS size, ${inlineColumns(table, 't', inlineBytes)}`;
}

interface SizedRow extends BriefRow {
  /** Size of body and managed fields in bytes. */
  size: number;
}

interface CursorSource {
  snapshot: Snapshot;
  table: Table;
  large: LargeReads;
}

/** Reads the objects of a statement in its order, a few megabytes at a time, whatever their sizes. */
export class ObjectCursor {
  readonly #snapshot: Snapshot;
  readonly #table: Table;
  readonly #large: LargeReads;
  readonly #timer: NodeJS.Timeout;
  #expired = false;
  #closed = false;

  private constructor({ snapshot, table, large }: CursorSource) {
    this.#snapshot = snapshot;
    this.#table = table;
    this.#large = large;
    this.#timer = setTimeout(() => {
      this.#expired = true;
      void this.close();
    }, snapshotTimeoutMs);
    this.#timer.unref();
  }

  /** `text` selects `cursorColumns`. The cursor owns the snapshot from here on, also if this fails. */
  static async open(
    source: CursorSource,
    { text, values }: { text: string; values: unknown[] },
  ): Promise<ObjectCursor> {
    const cursor = new ObjectCursor(source);
    try {
      await source.snapshot.client.query(`DECLARE objects NO SCROLL CURSOR FOR ${text}`, values);
      return cursor;
    } catch (error) {
      await cursor.close();
      throw error;
    }
  }

  /**
   * May be iterated once; the snapshot ends with the iteration. StorageError Timeout if the snapshot expires,
   * Unavailable if the cursor was closed before.
   */
  async *objects(readBudget?: ReadBudget): AsyncGenerator<StoredObject[]> {
    let size = firstFetch;
    try {
      for (;;) {
        const rows = await this.#fetch(size);
        for (const piece of pieces(rows)) {
          // A list that has begun is never rejected.
          readBudget?.reportHeld(sizeOf(piece));
          yield await this.#complete(piece, readBudget?.owner);
        }
        if (rows.length < size) return;
        const average = sizeOf(rows) / rows.length;
        size = Math.max(1, Math.min(maxFetch, Math.floor(pieceBytes / Math.max(average, 1))));
      }
    } finally {
      await this.close();
    }
  }

  /** Idempotent. */
  close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    return this.#snapshot.end();
  }

  async #fetch(size: number): Promise<SizedRow[]> {
    this.#checkOpen();
    const { rows } = await this.#snapshot.client.query<SizedRow>(`FETCH ${size} FROM objects`);
    return rows;
  }

  /** Reads large bodies by their keys, in the same snapshot. */
  async #complete(rows: readonly SizedRow[], owner: string | undefined): Promise<StoredObject[]> {
    if (rows.every(hasRowBody)) return rows.map(storedObject);
    const large = rows.filter((row) => !hasRowBody(row));
    const found = await this.#large.run({ owner, bytes: sizeOf(large) }, () => this.#bodies(large));
    // In one snapshot a revision identifies one object.
    const bodies = new Map(found.map((row) => [row.rev, row]));
    return rows.map((row) => storedObject(hasRowBody(row) ? row : bodies.get(row.rev)!));
  }

  async #bodies(keys: readonly ObjectKey[]): Promise<ObjectRow[]> {
    this.#checkOpen();
    const { rows } = await this.#snapshot.client.query<ObjectRow>(
      `SELECT m.namespace, m.name, m.rev, m.fingerprint, m.body, ${managedSql(this.#table, 'm')} AS managed FROM unnest($1::text[], $2::text[]) AS k(namespace, name) ` +
        `JOIN ${tableName(this.#table)} m ON m.namespace = k.namespace AND m.name = k.name`,
      [keys.map(({ namespace }) => namespace), keys.map(({ name }) => name)],
    );
    return rows;
  }

  /** After the close, another list may use the connection. */
  #checkOpen(): void {
    if (this.#expired) throw new StorageError('Timeout', 'the list took longer than its snapshot may be held');
    if (this.#closed) throw new StorageError('Unavailable', 'the list was closed before its end');
  }
}

function sizeOf(rows: readonly SizedRow[]): number {
  return rows.reduce((sum, row) => sum + row.size, 0);
}

function* pieces(rows: readonly SizedRow[]): Generator<SizedRow[]> {
  let piece: SizedRow[] = [];
  let size = 0;
  for (const row of rows) {
    if (piece.length > 0 && size + row.size > pieceBytes) {
      yield piece;
      piece = [];
      size = 0;
    }
    piece.push(row);
    size += row.size;
  }
  if (piece.length > 0) yield piece;
}
