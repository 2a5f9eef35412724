import type { Pool } from 'pg';
import { compareBySort, compileSelector, extractIndexKey, type ApiObject, type IndexKey, type ObjectKey, type Sortable } from '#pkg/apimachinery/index';
import { StorageError } from '../storage-error.ts';
import type { ChunkPosition, ChunkQuery, ObjectChunk, StoredObject } from '../store.ts';
import { compileList, objectColumns, orderAliases, selects, sparseLimit, storedObject, type CompiledList, type ObjectRow } from './list-query.ts';
import type { ObjectCounter } from './object-counter.ts';
import { keysetCondition, orderBy, Parameters, sqlValue } from './query-compiler.ts';
import type { Table } from './table.ts';

interface ChunkRow extends ObjectRow {
  revision: string;
  compacted: string;
  matched: string;
}

interface ChangedRow {
  compacted: string;
  namespace: string;
  name: string;
  prev: string | null;
  old: string;
  old_fingerprint: string;
}

/** Objects changed since a snapshot that a chunk looks at: past that, a list is better begun anew. */
const maxChanged = 20_000;

/** An object with what it is ordered by. */
interface Placed extends Sortable {
  object: StoredObject;
}

/**
 * A list in chunks that are one snapshot, at the first chunk's revision R: rows no newer than R, and, for each object
 * changed since, what the log says it was at R.
 */
export class ChunkReader {
  readonly #pool: Pool;
  readonly #counter: ObjectCounter;

  constructor(pool: Pool, counter: ObjectCounter) {
    this.#pool = pool;
    this.#counter = counter;
  }

  /** StorageError Compacted when the log no longer reaches back to R. */
  async read(table: Table, query: ChunkQuery): Promise<ObjectChunk> {
    const { after, limit } = query;
    const { rows, revision } = await this.#rows(table, query);
    let items = rows.map((object) => place(object, query));
    const snapshot = after === undefined || after.revision === 0 ? revision : after.revision;
    if (after !== undefined && snapshot < revision) {
      const last = items.length > limit ? items.at(-1) : undefined;
      items = merge(items, await this.#changedSince(table, query, { from: snapshot, to: revision }, last), query);
    }
    return this.#chunk(table, query, snapshot, items);
  }

  async #chunk(table: Table, query: ChunkQuery, revision: number, items: Placed[]): Promise<ObjectChunk> {
    const { after, limit } = query;
    const served = (after?.served ?? 0) + Math.min(items.length, limit);
    const total = selects(query) ? undefined : (after?.total ?? (after === undefined ? await this.#counter.countAt(table, query.namespace, revision) : undefined));
    const last = items[limit - 1];
    const objects = items.slice(0, limit).map(({ object }) => object);
    if (items.length <= limit || last === undefined) return { revision, items: objects };
    const next: ChunkPosition = { namespace: last.namespace, name: last.name, revision, keys: last.keys as ChunkPosition['keys'], served, ...(total === undefined ? {} : { total }) };
    return { revision, items: objects, next, ...(total === undefined ? {} : { remaining: Math.max(total - served, 0) }) };
  }

  /** Rows of the table after the position, one more than asked for, and the newest revision in the same snapshot. */
  async #rows(table: Table, query: ChunkQuery): Promise<{ rows: StoredObject[]; revision: number }> {
    const list = compileList(table, query, 'gathered');
    if (list.narrows) {
      const { rows, matched } = await this.#query(list, query, sparseLimit + 1);
      if (matched <= sparseLimit) return rows;
    }
    return (await this.#query(compileList(table, query, 'ordered'), query)).rows;
  }

  async #query(list: CompiledList, query: ChunkQuery, gather?: number): Promise<{ rows: { rows: StoredObject[]; revision: number }; matched: number }> {
    const { table } = list;
    const conditions = [list.where];
    const { after } = query;
    if (after !== undefined) conditions.push(keysetCondition(list.order, positionValues(table, query, after), list.parameters));
    if (after !== undefined && after.revision > 0) conditions.push(`t.rev <= ${list.parameters.bind(after.revision, 'bigint')}`);
    const where = conditions.join(' AND ');
    const order = orderBy(list.order);
    const aliases = orderAliases(list);
    const keys =
      gather === undefined
        ? `keys AS MATERIALIZED (SELECT t.namespace, t.name, row_number() OVER (ORDER BY ${order}) AS position FROM ${list.from} WHERE ${where} ORDER BY ${order} LIMIT ${query.limit + 1})`
        : `gathered AS MATERIALIZED (SELECT t.namespace, t.name, ${aliases.select} FROM ${list.from} WHERE ${where} LIMIT ${gather}), ` +
          `keys AS MATERIALIZED (SELECT namespace, name, row_number() OVER (ORDER BY ${aliases.order}) AS position FROM gathered ORDER BY position LIMIT ${query.limit + 1})`;
    const matched = gather === undefined ? '0' : '(SELECT count(*) FROM gathered)';
    const { rows } = await this.#pool.query<ChunkRow>(
      `WITH ${keys} SELECT h.*, found.* FROM (SELECT (SELECT max(rev) FROM platform.change_log) AS revision, compacted, ${matched} AS matched FROM platform.meta) h ` +
        `LEFT JOIN (SELECT keys.position, ${objectColumns} FROM keys JOIN ${list.from} USING (namespace, name)) found ON true ORDER BY found.position`,
      list.parameters.values,
    );
    const header = rows[0]!;
    const oldest = Math.max(Number(header.compacted), table.replaces);
    // One from beyond the newest is of a history that was lost.
    if (after !== undefined && after.revision > 0 && (after.revision < oldest || after.revision > Number(header.revision))) {
      throw new StorageError('Compacted', 'the continue token is too old');
    }
    return { rows: { rows: rows.filter((row) => row.rev !== null).map(storedObject), revision: Number(header.revision) }, matched: Number(header.matched) };
  }

  /** Objects that changed between the snapshot and the reading of the rows, as they were in the snapshot, that lie in the chunk's range. */
  async #changedSince(table: Table, query: ChunkQuery, { from, to }: { from: number; to: number }, last: Placed | undefined): Promise<Placed[]> {
    const { after, sort, namespace } = query;
    const parameters = new Parameters();
    const conditions = [`model = ${parameters.bind(table.id, 'int')}`, `rev > ${parameters.bind(from, 'bigint')}`, `rev <= ${parameters.bind(to, 'bigint')}`];
    const bound = (operator: string, key: ObjectKey): string => `(namespace, name) ${operator} (${parameters.bind(key.namespace, 'text')}, ${parameters.bind(key.name, 'text')})`;
    if (namespace !== undefined && namespace !== '') conditions.push(`namespace = ${parameters.bind(namespace, 'text')}`);
    if (sort.length === 0 && after !== undefined) conditions.push(bound('>', after));
    if (sort.length === 0 && last !== undefined) conditions.push(bound('<=', last));
    const { rows } = await this.#pool.query<ChangedRow>(
      `SELECT meta.compacted, changed.* FROM platform.meta LEFT JOIN LATERAL (SELECT * FROM (SELECT DISTINCT ON (namespace, name) namespace, name, prev, old, old_fingerprint ` +
        `FROM platform.change_log WHERE ${conditions.join(' AND ')} ORDER BY namespace, name, rev) first WHERE prev IS NOT NULL LIMIT ${maxChanged + 1}) changed ON true`,
      parameters.values,
    );
    if (from < Number(rows[0]!.compacted) || rows.length > maxChanged) throw new StorageError('Compacted', 'the continue token is too old');
    const matches = compileSelector(query.selector);
    const compare = compareBySort(sort);
    return rows.flatMap((row) => {
      if (row.prev === null) return [];
      const object: StoredObject = { namespace: row.namespace, name: row.name, revision: Number(row.prev), fingerprint: row.old_fingerprint, body: row.old };
      const parsed = JSON.parse(row.old) as ApiObject;
      if (!matches(parsed)) return [];
      const placed = place(object, query, parsed);
      const inside = (after === undefined || compare(placed, after) > 0) && (last === undefined || compare(placed, last) <= 0);
      return inside ? [placed] : [];
    });
  }
}

function place(object: StoredObject, { sort }: ChunkQuery, parsed?: ApiObject): Placed {
  const read = sort.length === 0 ? undefined : (parsed ?? (JSON.parse(object.body) as ApiObject));
  const keys: IndexKey[] = read === undefined ? [] : sort.map(({ index }) => extractIndexKey(index, read));
  return { namespace: object.namespace, name: object.name, keys, object };
}

function merge(rows: Placed[], changed: Placed[], { sort }: ChunkQuery): Placed[] {
  return changed.length === 0 ? rows : [...rows, ...changed].toSorted(compareBySort(sort));
}

/** The position's values in the order of the list's columns: the sort keys, then what ties are broken by. */
function positionValues(table: Table, { sort }: ChunkQuery, after: ChunkPosition): unknown[] {
  const keys = sort.map(({ index }, i) => (after.keys[i] == null ? null : sqlValue(index, after.keys[i])));
  const names = new Set(sort.map(({ index }) => index.name));
  const ties = [...(table.namespaced && !names.has('metadata.namespace') ? [after.namespace] : []), ...(names.has('metadata.name') ? [] : [after.name])];
  return [...keys, ...ties];
}
