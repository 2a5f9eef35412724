import type { Pool } from 'pg';
import type { ObjectKey } from '#pkg/apimachinery/index';
import type { StoredObject } from '../store.ts';
import { computedKeysSql } from './computed-keys-sql.ts';
import { classifyFailure } from './database-failure.ts';
import { storedObject, type ObjectRow } from './list-query.ts';
import { tableName, type Table } from './table.ts';

/** Keys asked for in one statement. */
const maxGroup = 256;

interface PendingRead {
  key: ObjectKey;
  done(object: StoredObject | undefined): void;
  failed(error: unknown): void;
}

/**
 * Reads by key. Those of one turn of the event loop go to PostgreSQL together, which costs both sides less than half;
 * each still begins after it was asked for, so it sees every write that was acknowledged by then.
 */
export class KeyReader {
  readonly #pool: Pool;
  readonly #waiting = new Map<string, PendingRead[]>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  get(table: Table, key: ObjectKey): Promise<StoredObject | undefined> {
    return new Promise((done, failed) => {
      const read = { key, done, failed };
      const statement = statementOf(table);
      const group = this.#waiting.get(statement);
      if (group !== undefined && group.length < maxGroup) {
        group.push(read);
        return;
      }
      const fresh = [read];
      this.#waiting.set(statement, fresh);
      setImmediate(() => {
        if (this.#waiting.get(statement) === fresh) this.#waiting.delete(statement);
        this.#send(table, fresh).catch((error: unknown) => {
          for (const each of fresh) each.failed(error);
        });
      });
    });
  }

  async #send(table: Table, reads: readonly PendingRead[]): Promise<void> {
    const [first] = reads;
    if (reads.length === 1) first!.done(await this.#one(table, first!.key));
    else await this.#sendSeveral(table, reads);
  }

  /** One key that PostgreSQL cannot take does not fail the others. */
  async #sendSeveral(table: Table, reads: readonly PendingRead[]): Promise<void> {
    try {
      for (const [i, object] of (await this.#several(table, reads)).entries()) reads[i]!.done(object);
    } catch (error) {
      if (classifyFailure(error) !== 'split') throw error;
      await Promise.all(reads.map((read) => this.#sendAlone(table, read)));
    }
  }

  async #sendAlone(table: Table, read: PendingRead): Promise<void> {
    try {
      read.done(await this.#one(table, read.key));
    } catch (error) {
      read.failed(error);
    }
  }

  async #one(table: Table, { namespace, name }: ObjectKey): Promise<StoredObject | undefined> {
    const { rows } = await this.#pool.query<ObjectRow>({
      name: `get-${statementOf(table)}`,
      text: `SELECT namespace, name, rev, fingerprint, body${keysOf(table)} FROM ${tableName(table)} m WHERE namespace = $1 AND name = $2`,
      values: [namespace, name],
    });
    return rows[0] === undefined ? undefined : storedWithKeys(rows[0]);
  }

  async #several(table: Table, reads: readonly PendingRead[]): Promise<(StoredObject | undefined)[]> {
    const { rows } = await this.#pool.query<ObjectRow & { position: number }>({
      name: `gets-${statementOf(table)}`,
      text:
        `SELECT k.position::int AS position, m.namespace, m.name, m.rev, m.fingerprint, m.body${keysOf(table)} FROM unnest($1::text[], $2::text[]) ` +
        `WITH ORDINALITY AS k(namespace, name, position) JOIN ${tableName(table)} m ON m.namespace = k.namespace AND m.name = k.name`,
      values: [reads.map(({ key }) => key.namespace), reads.map(({ key }) => key.name)],
    });
    const objects: (StoredObject | undefined)[] = reads.map(() => undefined);
    for (const row of rows) objects[row.position - 1] = storedWithKeys(row);
    return objects;
  }
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
