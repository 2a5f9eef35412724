import type { Pool } from 'pg';
import type { ObjectKey } from '#pkg/apimachinery/index';
import { storedLength } from '../../body.ts';
import type { ReadBudget } from '../../read-budget.ts';
import type { StoredObject } from '../../store.ts';
import { computedKeysSql } from './computed-keys-sql.ts';
import { classifyFailure } from '../connection/database-failure.ts';
import type { LargeReads } from '../connection/large-reads.ts';
import { hasRowBody, storedObject, type BriefRow, type ObjectRow } from '../list/list-query.ts';
import { inlineColumns, managedSql, sizeSql } from '../table/managed-column.ts';
import { tableName, type Table } from '../table/table.ts';

/** Maximum number of keys per statement. */
const maxGroup = 256;
/** Approximate bytes of bodies per statement, for objects known to be heavy. */
const maxGroupBytes = 1024 * 1024;
/** A read of at least this size is a large read. */
const largeGroupBytes = 256 * 1024;
/** Average size of recently read objects above which a namespace is heavy. */
const heavyBytes = 4096;
/** Maximum number of heavy namespaces that are remembered. */
const maxHeavy = 4096;
/** Objects up to this size are read with their row; a larger one is read alone, once memory is reserved. */
const inlineBytes = 64 * 1024;

type KeyedRow = BriefRow & { keys?: string };

interface PendingRead {
  key: ObjectKey;
  owner: string | undefined;
  done(row: KeyedRow | undefined): void;
  failed(error: unknown): void;
}

/**
 * Reads objects by key. The reads of one turn of the event loop share a statement, which costs both sides less than
 * half. Each statement starts after its reads were requested, so it sees every write acknowledged by then. Reads of a
 * namespace with heavy objects are sent separately, about a megabyte at a time, so that other reads do not wait for
 * their bodies.
 */
export class KeyReader {
  readonly #pool: Pool;
  readonly #largeReads: LargeReads;
  readonly #waiting = new Map<string, PendingRead[]>();
  /** Average size of recently read objects, by table and namespace; only heavy ones. */
  readonly #heavy = new Map<string, number>();

  constructor(pool: Pool, large: LargeReads) {
    this.#pool = pool;
    this.#largeReads = large;
  }

  async get(table: Table, key: ObjectKey, readBudget?: ReadBudget): Promise<StoredObject | undefined> {
    const row = await this.#brief(table, key, readBudget?.owner);
    if (row === undefined) return undefined;
    return hasRowBody(row) ? storedWithKeys(row) : this.#large(table, key, readBudget);
  }

  #brief(table: Table, key: ObjectKey, owner: string | undefined): Promise<KeyedRow | undefined> {
    return new Promise((done, failed) => {
      const read = { key, owner, done, failed };
      const size = this.#heavy.size === 0 ? undefined : this.#heavy.get(placeOf(table, key));
      const queue = size === undefined ? statementOf(table) : `${statementOf(table)} ${placeOf(table, key)}`;
      const group = this.#waiting.get(queue);
      if (group !== undefined && group.length < (size === undefined ? maxGroup : maxGroupBytes / size)) {
        group.push(read);
        return;
      }
      const fresh = [read];
      this.#waiting.set(queue, fresh);
      setImmediate(() => {
        if (this.#waiting.get(queue) === fresh) this.#waiting.delete(queue);
        this.#sendSized(table, fresh, (size ?? 0) * fresh.length).catch((error: unknown) => {
          for (const each of fresh) each.failed(error);
        });
      });
    });
  }

  async #sendSized(table: Table, reads: readonly PendingRead[], bytes: number): Promise<void> {
    if (bytes <= largeGroupBytes) await this.#send(table, reads);
    else await this.#largeReads.run({ owner: reads[0]!.owner, bytes }, () => this.#send(table, reads));
  }

  async #send(table: Table, reads: readonly PendingRead[]): Promise<void> {
    const [first] = reads;
    if (reads.length === 1) this.#finish(table, first!, await this.#one(table, first!.key));
    else await this.#sendSeveral(table, reads);
  }

  /** A key that PostgreSQL rejects does not fail the other reads. */
  async #sendSeveral(table: Table, reads: readonly PendingRead[]): Promise<void> {
    try {
      for (const [i, row] of (await this.#several(table, reads)).entries()) this.#finish(table, reads[i]!, row);
    } catch (error) {
      if (classifyFailure(error) !== 'split') throw error;
      await Promise.all(reads.map((read) => this.#sendAlone(table, read)));
    }
  }

  async #sendAlone(table: Table, read: PendingRead): Promise<void> {
    try {
      this.#finish(table, read, await this.#one(table, read.key));
    } catch (error) {
      read.failed(error);
    }
  }

  #finish(table: Table, read: PendingRead, row: KeyedRow | undefined): void {
    // The row of a larger object has no body.
    if (row !== undefined && hasRowBody(row)) {
      const size = storedLength(storedObject(row));
      if (this.#heavy.size > 0 || size > heavyBytes) this.#remember(placeOf(table, read.key), size);
    }
    read.done(row);
  }

  #remember(place: string, size: number): void {
    const before = this.#heavy.get(place) ?? size;
    const average = before + (size - before) / 8;
    // Keep the most recently used entry last.
    this.#heavy.delete(place);
    if (average <= heavyBytes) return;
    this.#heavy.set(place, average);
    if (this.#heavy.size > maxHeavy) this.#heavy.delete(this.#heavy.keys().next().value!);
  }

  async #one(table: Table, { namespace, name }: ObjectKey): Promise<KeyedRow | undefined> {
    const { rows } = await this.#pool.query<KeyedRow>({
      name: `get-${statementOf(table)}`,
      text: `SELECT namespace, name, rev, fingerprint, ${inlineColumns(table, 'm', inlineBytes)}${keysOf(table)} FROM ${tableName(table)} m WHERE namespace = $1 AND name = $2`,
      values: [namespace, name],
    });
    return rows[0];
  }

  /** The object may change meanwhile: the result is one consistent version, no older than the request. */
  async #large(
    table: Table,
    { namespace, name }: ObjectKey,
    readBudget: ReadBudget | undefined,
  ): Promise<StoredObject | undefined> {
    const from = `FROM ${tableName(table)} m WHERE namespace = $1 AND name = $2`;
    const values = [namespace, name];
    // The body is larger than the inline limit; its exact size is read only if memory is counted.
    let bytes = inlineBytes;
    if (readBudget !== undefined) {
      const { rows } = await this.#pool.query<{ size: number }>(
        `SELECT ${sizeSql(table, 'm')} AS size ${from}`,
        values,
      );
      bytes = rows[0]?.size ?? 0;
      await readBudget.admit(bytes);
    }
    const { rows } = await this.#largeReads.run({ owner: readBudget?.owner, bytes }, () =>
      this.#pool.query<ObjectRow>(
        `SELECT namespace, name, rev, fingerprint, body, ${managedSql(table, 'm')} AS managed${keysOf(table)} ${from}`,
        values,
      ),
    );
    return rows[0] === undefined ? undefined : storedWithKeys(rows[0]);
  }

  async #several(table: Table, reads: readonly PendingRead[]): Promise<(KeyedRow | undefined)[]> {
    const { rows } = await this.#pool.query<KeyedRow & { position: number }>({
      name: `gets-${statementOf(table)}`,
      text:
        `SELECT k.position::int AS position, m.namespace, m.name, m.rev, m.fingerprint, ${inlineColumns(table, 'm', inlineBytes)}${keysOf(table)} FROM unnest($1::text[], $2::text[]) ` +
        `WITH ORDINALITY AS k(namespace, name, position) JOIN ${tableName(table)} m ON m.namespace = k.namespace AND m.name = k.name`,
      values: [reads.map(({ key }) => key.namespace), reads.map(({ key }) => key.name)],
    });
    const found: (KeyedRow | undefined)[] = reads.map(() => undefined);
    for (const row of rows) found[row.position - 1] = row;
    return found;
  }
}

function placeOf({ id }: Table, { namespace }: ObjectKey): string {
  return `${id}/${namespace}`;
}

/** The name of the prepared statement, whose columns change with the table: by its shape, if it has computed ones. */
function statementOf({ id, shape, computed, hasManaged }: Table): string {
  if (computed !== undefined) return `${id}-${shape}`;
  return hasManaged ? String(id) : `${id}-without-managed`;
}

function keysOf(table: Table): string {
  return table.computed === undefined ? '' : `, ${computedKeysSql(table, 'm')} AS keys`;
}

function storedWithKeys(row: ObjectRow & { keys?: string }): StoredObject {
  const object = storedObject(row);
  if (row.keys !== undefined) object.keys = row.keys;
  return object;
}
