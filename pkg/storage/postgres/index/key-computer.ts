import type { Pool } from 'pg';
import { fieldError, keyFromResult, type ComputedKeys, type IndexKey, type StatusCause } from '#pkg/apimachinery/index';
import { encodeStoredBody } from '../../body.ts';
import type { KeyCall, KeyEvaluator, KeyScript } from '../../key-evaluator.ts';
import { StorageError } from '../../storage-error.ts';
import type { Write } from '../../store.ts';
import { readyColumns } from './computed-keys-sql.ts';
import { isStaleTable } from '../connection/database-failure.ts';
import type { KeyReader } from './key-reader.ts';
import type { ComputedColumn, Table } from '../table/table.ts';
import type { KeyComputation, WriteKeys } from '../write/write-keys.ts';

/** Characters of JSON: the log keeps the keys with every change. */
const maxTextLength = 256 * 1024;
/** Maximum number of scripts kept in memory. */
const maxScripts = 100;

/** Computes the keys of computed columns through the evaluator. */
export class KeyComputer {
  readonly #evaluator: KeyEvaluator | undefined;
  readonly #pool: Pool;
  readonly #reader: KeyReader;
  readonly #scripts = new Map<string, KeyScript>();

  constructor({ evaluator, pool, reader }: { evaluator: KeyEvaluator | undefined; pool: Pool; reader: KeyReader }) {
    this.#evaluator = evaluator;
    this.#pool = pool;
    this.#reader = reader;
  }

  /** Undefined if the table has changed since it was cached. */
  async ofWrite(table: Table, write: Write): Promise<WriteKeys | undefined> {
    const columns = table.computed ?? [];
    const body = encodeStoredBody(write.object);
    const oldText = write.type === 'create' ? null : await this.#oldText(table, write.from);
    if (oldText === undefined) return undefined;
    const old = { ...noKeys(columns), ...(oldText === null ? {} : (JSON.parse(oldText) as ComputedKeys)) };
    // A deleted object has no keys.
    if (write.type === 'delete') return { body, keys: noKeys(columns), causes: [], text: null, old, oldText };
    const [computed] = (await this.ofBodies(table, columns, [body])) ?? [];
    if (computed === undefined) return undefined;
    const text = JSON.stringify(computed.keys);
    return { body, keys: computed.keys, causes: computed.causes, text, old, oldText };
  }

  /** Computes the keys of stored bodies, for some of the table's columns. */
  async ofBodies(
    table: Table,
    columns: readonly ComputedColumn[],
    bodies: readonly string[],
  ): Promise<KeyComputation[] | undefined> {
    const script = await this.#scriptOf(table);
    if (script === undefined) return undefined;
    if (this.#evaluator === undefined) throw new StorageError('KeysUnavailable', 'this process computes no keys');
    const calls = columns.map(({ index }): KeyCall => ({ function: index.computed.function, multi: index.multi }));
    const rows = await this.#evaluator.evaluate(script, calls, bodies);
    return rows.map((row) => {
      const keys: Record<string, IndexKey> = {};
      const causes: StatusCause[] = [];
      for (const [i, { index }] of columns.entries()) {
        const { key, cause } = keyFromResult(index, row[i]!);
        keys[index.computed.id] = key;
        if (cause !== undefined) causes.push(cause);
      }
      const isFault = row.some((result) => 'fault' in result);
      if (JSON.stringify(keys).length <= maxTextLength) return { keys, causes, isFault };
      return {
        keys: noKeys(columns),
        causes: [...causes, fieldError.tooLong(columns.map(({ index }) => index.name).join(', '), maxTextLength)],
        isFault,
      };
    });
  }

  /**
   * An object that was read before a column was filled lacks its keys: read them from the row. Undefined if the table
   * has changed.
   */
  async #oldText(table: Table, from: Extract<Write, { type: 'update' }>['from']): Promise<string | undefined> {
    const known = from.keys === undefined ? undefined : (JSON.parse(from.keys) as ComputedKeys);
    if (
      from.keys !== undefined &&
      readyColumns(table.computed ?? []).every(({ index }) => Object.hasOwn(known!, index.computed.id))
    )
      return from.keys;
    // If the row has changed, the write is a Conflict whatever its keys.
    try {
      return (await this.#reader.get(table, from))?.keys ?? '{}';
    } catch (error) {
      if (isStaleTable(error)) return undefined;
      throw error;
    }
  }

  async #scriptOf(table: Table): Promise<KeyScript | undefined> {
    const hash = table.computed![0]!.index.computed.script;
    const known = this.#scripts.get(hash);
    if (known !== undefined) return known;
    const { rows } = await this.#pool.query<{ key_script: string | null }>(
      'SELECT key_script FROM platform.models WHERE id = $1 AND shape = $2',
      [table.id, table.shape],
    );
    const text = rows[0]?.key_script;
    if (text === undefined || text === null) return undefined;
    const script = { hash, text };
    this.#scripts.set(hash, script);
    if (this.#scripts.size > maxScripts) this.#scripts.delete(this.#scripts.keys().next().value!);
    return script;
  }
}

function noKeys(columns: readonly ComputedColumn[]): ComputedKeys {
  return Object.fromEntries(columns.map(({ index }) => [index.computed.id, index.multi ? [] : null]));
}
