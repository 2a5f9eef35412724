import type { Pool } from 'pg';
import { compareBySort, compileSelector, extractIndexKey, type ApiObject, type IndexKey, type Sortable } from '#pkg/apimachinery/index';
import { StorageError } from '../storage-error.ts';
import type { ChunkPosition, ChunkQuery, ObjectChunk, StoredObject } from '../store.ts';
import { compileList, objectColumns, sparseLimit, storedObject, type ObjectRow } from './list-query.ts';
import type { ObjectCounter } from './object-counter.ts';
import { keysetCondition, orderBy, sqlValue } from './query-compiler.ts';
import type { Table } from './table.ts';

interface ChunkRow extends ObjectRow {
  revision: string;
  compacted: string;
  matched: string;
}

interface ChangedRow {
  namespace: string;
  name: string;
  prev: string;
  old: string;
  old_fingerprint: string;
}

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
      items = merge(items, await this.#changedSince(table, query, snapshot, last), query);
    }
    return this.#chunk(table, query, snapshot, items);
  }

  async #chunk(table: Table, query: ChunkQuery, revision: number, items: Placed[]): Promise<ObjectChunk> {
    const { after, limit } = query;
    const served = (after?.served ?? 0) + Math.min(items.length, limit);
    const selects = query.selector.labels.length > 0 || query.selector.fields.length > 0;
    const total = selects ? undefined : (after?.total ?? (after === undefined ? await this.#counter.countAt(table, query.namespace, revision) : undefined));
    const last = items[limit - 1];
    const objects = items.slice(0, limit).map(({ object }) => object);
    if (items.length <= limit || last === undefined) return { revision, items: objects };
    const next: ChunkPosition = { namespace: last.namespace, name: last.name, revision, keys: last.keys as ChunkPosition['keys'], served, ...(total === undefined ? {} : { total }) };
    return { revision, items: objects, next, ...(total === undefined ? {} : { remaining: Math.max(total - served, 0) }) };
  }

  /** Rows of the table after the position, one more than asked for, and the newest revision in the same snapshot. */
  async #rows(table: Table, query: ChunkQuery): Promise<{ rows: StoredObject[]; revision: number }> {
    if (compileList(table, query, 'gathered').narrows) {
      const { rows, matched } = await this.#query(table, query, sparseLimit + 1);
      if (matched <= sparseLimit) return rows;
    }
    return (await this.#query(table, query)).rows;
  }

  async #query(table: Table, query: ChunkQuery, gather?: number): Promise<{ rows: { rows: StoredObject[]; revision: number }; matched: number }> {
    const list = compileList(table, query, gather === undefined ? 'ordered' : 'gathered');
    const conditions = [list.where];
    const { after } = query;
    if (after !== undefined) conditions.push(keysetCondition(list.order, positionValues(table, query, after), list.parameters));
    if (after !== undefined && after.revision > 0) conditions.push(`t.rev <= ${list.parameters.bind(after.revision, 'bigint')}`);
    const where = conditions.join(' AND ');
    const order = orderBy(list.order);
    const source =
      gather === undefined
        ? `found AS MATERIALIZED (SELECT ${objectColumns}, row_number() OVER (ORDER BY ${order}) AS position FROM ${list.from} WHERE ${where} ORDER BY ${order} LIMIT ${query.limit + 1})`
        : `gathered AS MATERIALIZED (SELECT t.* FROM ${list.from} WHERE ${where} LIMIT ${gather}), ` +
          `found AS MATERIALIZED (SELECT ${objectColumns}, row_number() OVER (ORDER BY ${order}) AS position FROM gathered t ORDER BY ${order} LIMIT ${query.limit + 1})`;
    const matched = gather === undefined ? '0' : '(SELECT count(*) FROM gathered)';
    const { rows } = await this.#pool.query<ChunkRow>(
      `WITH ${source} SELECT h.*, found.* FROM (SELECT (SELECT max(rev) FROM platform.change_log) AS revision, compacted, ${matched} AS matched FROM platform.meta) h ` +
        'LEFT JOIN found ON true ORDER BY found.position',
      list.parameters.values,
    );
    const header = rows[0]!;
    if (after !== undefined && after.revision > 0 && after.revision < Math.max(Number(header.compacted), table.replaces)) {
      throw new StorageError('Compacted', 'the continue token is too old');
    }
    return { rows: { rows: rows.filter((row) => row.rev !== null).map(storedObject), revision: Number(header.revision) }, matched: Number(header.matched) };
  }

  /** Objects that changed since the snapshot, as they were then, that lie in the chunk's range. */
  async #changedSince(table: Table, query: ChunkQuery, snapshot: number, last: Placed | undefined): Promise<Placed[]> {
    const { rows } = await this.#pool.query<ChangedRow>(
      `SELECT * FROM (SELECT DISTINCT ON (namespace, name) namespace, name, type, prev, old, old_fingerprint FROM platform.change_log ` +
        `WHERE model = $1 AND rev > $2 AND ($3::text IS NULL OR namespace = $3) ORDER BY namespace, name, rev) first WHERE prev IS NOT NULL`,
      [table.id, snapshot, query.namespace ?? null],
    );
    const matches = compileSelector(query.selector);
    const compare = compareBySort(query.sort);
    const start = query.after;
    return rows.flatMap((row) => {
      const object: StoredObject = { namespace: row.namespace, name: row.name, revision: Number(row.prev), fingerprint: row.old_fingerprint, body: row.old };
      const parsed = JSON.parse(row.old) as ApiObject;
      if (!matches(parsed)) return [];
      const placed = place(object, query, parsed);
      const inside = (start === undefined || compare(placed, start) > 0) && (last === undefined || compare(placed, last) <= 0);
      return inside ? [placed] : [];
    });
  }
}

function place(object: StoredObject, { sort }: ChunkQuery, parsed?: ApiObject): Placed {
  const keys: IndexKey[] = sort.length === 0 ? [] : sort.map(({ index }) => extractIndexKey(index, parsed ?? (JSON.parse(object.body) as ApiObject)));
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
