import type { Pool } from 'pg';
import type { ObjectKey } from '#pkg/apimachinery/index';
import type { ReadRoom } from '../../read-room.ts';
import type { StoredObject } from '../../store.ts';
import { computedKeysSql } from './computed-keys-sql.ts';
import { classifyFailure } from '../connection/database-failure.ts';
import type { LargeReads } from '../connection/large-reads.ts';
import { hasRowBody, storedObject, type BriefRow, type ObjectRow } from '../list/list-query.ts';
import { tableName, type Table } from '../table/table.ts';

/** Keys asked for in one statement. */
const maxGroup = 256;
/** And bodies, about, where they are known to be heavy. */
const maxGroupBytes = 1024 * 1024;
/** From here on it is a large read. */
const largeGroupBytes = 256 * 1024;
/** Of the objects of a namespace that were read lately, on average. */
const heavyBytes = 4096;
/** Namespaces of which that is known. */
const maxHeavy = 4096;
/** Bodies up to this size come with their row; a larger one comes alone, when there is room for it. */
const inlineBytes = 64 * 1024;
const inlineBody = `CASE WHEN octet_length(m.body) <= ${inlineBytes} THEN m.body END AS body`;

type KeyedRow = BriefRow & { keys?: string };

interface PendingRead {
  key: ObjectKey;
  owner: string | undefined;
  done(row: KeyedRow | undefined): void;
  failed(error: unknown): void;
}

/**
 * Reads by key. Those of one turn of the event loop go to PostgreSQL together, which costs both sides less than half;
 * each still begins after it was asked for, so it sees every write that was acknowledged by then. Those of a namespace
 * whose objects are heavy go apart, about a megabyte at a time: nobody waits for the bodies of others.
 */
export class KeyReader {
  readonly #pool: Pool;
  readonly #largeReads: LargeReads;
  readonly #waiting = new Map<string, PendingRead[]>();
  /** The average size of the objects that were read lately, by table and namespace, where that is heavy. */
  readonly #heavy = new Map<string, number>();

  constructor(pool: Pool, large: LargeReads) {
    this.#pool = pool;
    this.#largeReads = large;
  }

  async get(table: Table, key: ObjectKey, room?: ReadRoom): Promise<StoredObject | undefined> {
    const row = await this.#brief(table, key, room?.owner);
    if (row === undefined) return undefined;
    return hasRowBody(row) ? storedWithKeys(row) : this.#large(table, key, room);
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

  /** One key that PostgreSQL cannot take does not fail the others. */
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
    // What is larger has not come with its row.
    if (row?.body != null && (this.#heavy.size > 0 || row.body.length > heavyBytes))
      this.#remember(placeOf(table, read.key), row.body.length);
    read.done(row);
  }

  #remember(place: string, size: number): void {
    const before = this.#heavy.get(place) ?? size;
    const average = before + (size - before) / 8;
    // The newest last.
    this.#heavy.delete(place);
    if (average <= heavyBytes) return;
    this.#heavy.set(place, average);
    if (this.#heavy.size > maxHeavy) this.#heavy.delete(this.#heavy.keys().next().value!);
  }

  async #one(table: Table, { namespace, name }: ObjectKey): Promise<KeyedRow | undefined> {
    const { rows } = await this.#pool.query<KeyedRow>({
      name: `get-${statementOf(table)}`,
      text: `SELECT namespace, name, rev, fingerprint, ${inlineBody}${keysOf(table)} FROM ${tableName(table)} m WHERE namespace = $1 AND name = $2`,
      values: [namespace, name],
    });
    return rows[0];
  }

  /** It may change meanwhile: what is answered is all of one moment, and no older than the question. */
  async #large(
    table: Table,
    { namespace, name }: ObjectKey,
    room: ReadRoom | undefined,
  ): Promise<StoredObject | undefined> {
    const from = `FROM ${tableName(table)} m WHERE namespace = $1 AND name = $2`;
    const values = [namespace, name];
    // Larger than what comes at once, by how much is asked only where somebody's memory is counted.
    let bytes = inlineBytes;
    if (room !== undefined) {
      const { rows } = await this.#pool.query<{ size: number }>(`SELECT octet_length(body) AS size ${from}`, values);
      bytes = rows[0]?.size ?? 0;
      await room.admit(bytes);
    }
    const { rows } = await this.#largeReads.run({ owner: room?.owner, bytes }, () =>
      this.#pool.query<ObjectRow>(`SELECT namespace, name, rev, fingerprint, body${keysOf(table)} ${from}`, values),
    );
    return rows[0] === undefined ? undefined : storedWithKeys(rows[0]);
  }

  async #several(table: Table, reads: readonly PendingRead[]): Promise<(KeyedRow | undefined)[]> {
    const { rows } = await this.#pool.query<KeyedRow & { position: number }>({
      name: `gets-${statementOf(table)}`,
      text:
        `SELECT k.position::int AS position, m.namespace, m.name, m.rev, m.fingerprint, ${inlineBody}${keysOf(table)} FROM unnest($1::text[], $2::text[]) ` +
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

/** One that has computed columns reads them, and those change with its shape. */
function statementOf({ id, shape, computed }: Table): string {
  return computed === undefined ? String(id) : `${id}-${shape}`;
}

function keysOf(table: Table): string {
  return table.computed === undefined ? '' : `, ${computedKeysSql(table, 'm')} AS keys`;
}

function storedWithKeys(row: ObjectRow & { keys?: string }): StoredObject {
  const object = storedObject(row);
  if (row.keys !== undefined) object.keys = row.keys;
  return object;
}
