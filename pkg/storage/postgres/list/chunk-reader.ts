import type { Pool, PoolClient } from 'pg';
import { compareBySort, KeyNotComputed, type ObjectKey } from '#pkg/apimachinery/index';
import { storedLength } from '../../body.ts';
import { StorageError } from '../../storage-error.ts';
import type { ChunkPosition, ChunkQuery, ObjectChunk } from '../../store.ts';
import {
  boundedObjects,
  compileList,
  orderAliases,
  hasSelector,
  sparseLimit,
  storedObject,
  topmostKeys,
  type CompiledList,
  type PageBound,
} from './list-query.ts';
import type { LargeReads } from '../connection/large-reads.ts';
import { boundMargin, type MatchBounds } from './match-bounds.ts';
import type { ObjectCounter } from './object-counter.ts';
import {
  keyColumns,
  oldVersionsInChunk,
  positionedRow,
  positionKeys,
  readsComputed,
  type ChangedRow,
  type SortPosition,
  type PositionedObject,
  type PositionedRow,
} from './list-order.ts';
import { isInGap } from '../history/gaps.ts';
import { keysetBranches, orderBy, QueryParameters, sqlValue } from './query-compiler.ts';
import { PageMemory, unreservedBound } from './page-memory.ts';
import { queryWithTimeout } from './query-with-timeout.ts';
import type { Table } from '../table/table.ts';

interface ChunkRow extends PositionedRow {
  revision: string;
  compacted: string;
  /** Is the continue token's revision in a gap? */
  is_lost: boolean;
  matched: string;
  /** Number of objects in the chunk, plus one if more follow. */
  found: string;
}

interface ChangedHeader extends ChangedRow {
  compacted: string;
  /** Number of objects that changed, whether read or not. */
  changed: string;
}

/**
 * Maximum number of objects changed since the snapshot that a chunk reads: beyond it, the client should start a new
 * list.
 */
const maxChanged = 20_000;
/** Bytes of bodies in a chunk, and of objects changed since its snapshot. */
const chunkBytes = 4 * 1024 * 1024;
const changedBytes = 4 * 1024 * 1024;

/** Rows of the table, and the newest revision in the same snapshot of the database. */
interface ChunkRows {
  items: PositionedObject[];
  /** No more objects follow. */
  isAll: boolean;
  revision: number;
  /** The number of matches, where they were gathered. */
  matched: number;
}

/** Objects in the order of the list, up to a position. */
interface Part {
  items: PositionedObject[];
  /** The last position covered; undefined for the end of the list. */
  upTo: SortPosition | undefined;
}

/**
 * A list in chunks from one snapshot, at the first chunk's revision R: rows no newer than R, and for each object
 * changed since, its version at R from the log.
 */
export class ChunkReader {
  readonly #pool: Pool;
  readonly #counter: ObjectCounter;
  readonly #bounds: MatchBounds;
  readonly #large: LargeReads;
  readonly #memory: PageMemory;

  constructor({
    pool,
    counter,
    bounds,
    large,
  }: {
    pool: Pool;
    counter: ObjectCounter;
    bounds: MatchBounds;
    large: LargeReads;
  }) {
    this.#large = large;
    this.#memory = new PageMemory(chunkBytes, large);
    this.#pool = pool;
    this.#counter = counter;
    this.#bounds = bounds;
  }

  /** StorageError Compacted if the log no longer contains the changes since R. */
  async read(table: Table, query: ChunkQuery): Promise<ObjectChunk> {
    const { after } = query;
    const { items, isAll, revision } = await this.#rows(table, query);
    let part: Part = { items, upTo: isAll ? undefined : items.at(-1) };
    const snapshot = after === undefined || after.revision === 0 ? revision : after.revision;
    if (after !== undefined && snapshot < revision) {
      const changed = await this.#changedSince(table, query, { from: snapshot, to: revision, part });
      part = merge(part, changed, query);
      query.readBudget?.reportHeld(sizeOf(part.items));
    }
    return this.#chunk(table, query, snapshot, part);
  }

  /**
   * The log has computed keys since the index became ready, which it was at the first chunk, unless the index was
   * rebuilt.
   */
  async #old(
    rows: readonly ChangedRow[],
    query: ChunkQuery,
    upTo: SortPosition | undefined,
  ): Promise<PositionedObject[]> {
    try {
      return await oldVersionsInChunk(rows, query, upTo);
    } catch (error) {
      throw error instanceof KeyNotComputed
        ? new StorageError('Compacted', 'the continue token is too old', { cause: error })
        : error;
    }
  }

  async #chunk(table: Table, query: ChunkQuery, revision: number, { items, upTo }: Part): Promise<ObjectChunk> {
    const { after, limit } = query;
    const taken = items.slice(0, limit);
    const served = (after?.served ?? 0) + taken.length;
    const total = hasSelector(query)
      ? undefined
      : (after?.total ??
        (after === undefined ? await this.#counter.countAt(table, query.namespace, revision) : undefined));
    const last = items.length > limit ? taken.at(-1) : upTo;
    const objects = taken.map(({ object }) => object);
    if (last === undefined) return { revision, items: objects };
    const { namespace, name, keys } = last;
    const next: ChunkPosition = { namespace, name, revision, keys, served, ...(total === undefined ? {} : { total }) };
    return {
      revision,
      items: objects,
      next,
      ...(total === undefined ? {} : { remaining: Math.max(total - served, 0) }),
    };
  }

  /** Rows of the table after the position, and the newest revision in the same snapshot. */
  async #rows(table: Table, query: ChunkQuery): Promise<ChunkRows> {
    const list = compileList(table, query, 'gathered');
    if (list.narrows && !this.#bounds.exceeds(table, query, sparseLimit)) {
      const found = this.#bounds.counting(table, query);
      const gathered = await this.#query(list, query, { way: 'gathered' });
      if (gathered.matched <= sparseLimit) return gathered;
      found(gathered.matched);
    }
    const ordered = (runner: Pick<PoolClient, 'query'>): Promise<ChunkRows> =>
      this.#query(compileList(table, query, 'ordered'), query, { way: 'ordered', runner });
    if (!list.narrows) return ordered(this.#pool);
    return (
      (await queryWithTimeout(this.#pool, ordered)) ??
      this.#query(compileList(table, query, 'gathered'), query, { way: 'topmost' })
    );
  }

  async #query(
    list: CompiledList,
    query: ChunkQuery,
    { way, runner = this.#pool }: { way: 'gathered' | 'ordered' | 'topmost'; runner?: Pick<PoolClient, 'query'> },
  ): Promise<ChunkRows> {
    const { table } = list;
    const conditions = [list.where];
    const { after } = query;
    const branches =
      after === undefined ? [] : keysetBranches(list.order, positionValues(table, query, after), list.parameters);
    if (after !== undefined && after.revision > 0)
      conditions.push(`t.rev <= ${list.parameters.bind(after.revision, 'bigint')}`);
    if (way !== 'ordered' && after !== undefined)
      conditions.push(`(${branches.map((branch) => `(${branch})`).join(' OR ')})`);
    const isLost =
      after !== undefined && after.revision > 0 ? isInGap(list.parameters.bind(after.revision, 'bigint')) : 'false';
    const where = conditions.join(' AND ');
    const take = query.limit + 1;
    const keys =
      way === 'ordered'
        ? orderedKeys(list, { where, take, branches })
        : { gathered: gatheredKeys, topmost: topmostKeys }[way](list, { where, skip: 0, take });
    const matched = way === 'gathered' ? '(SELECT count(*) FROM gathered)' : '0';
    const read = (bound: PageBound): Promise<{ rows: ChunkRow[] }> =>
      runner.query<ChunkRow>(
        `WITH ${keys} SELECT h.*, r.* FROM (SELECT (SELECT max(rev) FROM platform.change_log) AS revision, compacted, ${isLost} AS is_lost, ${matched} AS matched, (SELECT count(*) FROM keys) AS found FROM platform.meta) h ` +
          `LEFT JOIN (${boundedObjects(list, bound, `keys.position <= ${query.limit}`, keyColumns(list, query.sort))}) r ON true ORDER BY r.position`,
        list.parameters.values,
      );
    const { rows } = await this.#memory.read(
      table,
      {
        limit: query.limit,
        namespace: query.namespace,
        readBudget: query.readBudget,
        holdsConnection: runner !== this.#pool,
      },
      {
        read,
        isCut: (found) => isChunkCut(found.rows, query),
        itemsOf: (found) => found.rows.filter((row) => row.rev !== null).map(storedObject),
      },
    );
    const header = rows[0]!;
    const oldest = Math.max(Number(header.compacted), table.replaces);
    // A revision above the newest one was lost in a failover of which no server knows yet.
    if (
      after !== undefined &&
      after.revision > 0 &&
      (after.revision < oldest || after.revision > Number(header.revision) || header.is_lost)
    ) {
      throw new StorageError('Compacted', 'the continue token is too old');
    }
    const items = rows.filter((row) => row.rev !== null).map((row) => positionedRow(row, query.sort));
    return {
      items,
      isAll: items.length === Number(header.found),
      revision: Number(header.revision),
      matched: Number(header.matched),
    };
  }

  /**
   * Objects in the chunk's range that changed between the snapshot and the read of the rows, in their versions at the
   * snapshot.
   */
  async #changedSince(
    table: Table,
    query: ChunkQuery,
    { from, to, part: { items, upTo } }: { from: number; to: number; part: Part },
  ): Promise<Part> {
    const { after, sort, namespace, readBudget } = query;
    const parameters = new QueryParameters();
    const conditions = [
      `model = ${parameters.bind(table.id, 'int')}`,
      `rev > ${parameters.bind(from, 'bigint')}`,
      `rev <= ${parameters.bind(to, 'bigint')}`,
    ];
    const bound = (operator: string, key: ObjectKey): string =>
      `(namespace, name) ${operator} (${parameters.bind(key.namespace, 'text')}, ${parameters.bind(key.name, 'text')})`;
    if (namespace !== undefined && namespace !== '')
      conditions.push(`namespace = ${parameters.bind(namespace, 'text')}`);
    if (sort.length === 0 && after !== undefined) conditions.push(bound('>', after));
    if (sort.length === 0 && upTo !== undefined) conditions.push(bound('<=', upTo));
    const first = `SELECT DISTINCT ON (namespace, name) namespace, name, prev, old, old_managed, old_fingerprint${readsComputed(query) ? ', old_keys' : ''} FROM platform.change_log WHERE ${conditions.join(' AND ')} ORDER BY namespace, name, rev`;
    const read = async ({ bytes, oneMore }: PageBound): Promise<ChangedHeader[]> => {
      const own = '(octet_length(old) + coalesce(octet_length(old_managed), 0))';
      const upto = `sum(${own}) OVER (ORDER BY namespace, name)${oneMore ? ` - ${own}` : ''} AS upto`;
      const sized = `SELECT *, ${upto} FROM (SELECT * FROM (${first}) first WHERE prev IS NOT NULL LIMIT ${maxChanged + 1}) bounded`;
      const { rows } = await this.#pool.query<ChangedHeader>(
        `WITH sized AS (${sized}) SELECT meta.compacted, (SELECT count(*) FROM sized) AS changed, found.* FROM platform.meta LEFT JOIN (SELECT * FROM sized WHERE upto < ${bytes}) found ON true ORDER BY namespace, name`,
        parameters.values,
      );
      return rows;
    };
    const size = sizeOf(items);
    let rows = await read(unreservedBound);
    if (isChangedCut(rows)) {
      await readBudget?.admit(size + changedBytes);
      rows = await this.#large.run({ owner: readBudget?.owner, bytes: changedBytes }, () =>
        read({ bytes: changedBytes, oneMore: true }),
      );
    }
    readBudget?.reportHeld(
      size +
        rows.reduce(
          (sum, { prev, old, old_managed }) => sum + (prev === null ? 0 : old.length + (old_managed?.length ?? 0)),
          0,
        ),
    );
    const isCut = isChangedCut(rows) || rows.length > maxChanged;
    // The result was cut in the order of keys: in another order, the missing objects may lie anywhere.
    if (from < Number(rows[0]!.compacted) || (isCut && sort.length > 0))
      throw new StorageError('Compacted', 'the continue token is too old');
    const last = rows.at(-1)!;
    return {
      items: await this.#old(rows, query, upTo),
      upTo: isCut ? { namespace: last.namespace, name: last.name, keys: [] } : upTo,
    };
  }
}

/** Are objects of the chunk missing from the rows? */
function isChunkCut(rows: readonly ChunkRow[], { limit }: ChunkQuery): boolean {
  return rows.filter((row) => row.rev !== null).length < Math.min(Number(rows[0]!.found), limit);
}

/** Are changed objects missing from the rows? */
function isChangedCut(rows: readonly ChangedHeader[]): boolean {
  return rows.filter(({ prev }) => prev !== null).length < Number(rows[0]!.changed);
}

function sizeOf(items: readonly PositionedObject[]): number {
  return items.reduce((sum, { object }) => sum + storedLength(object), 0);
}

/** Reads one range of the order's index after the other, each only if the previous ranges found too few. */
function orderedKeys(
  list: CompiledList,
  { where, take, branches }: { where: string; take: number; branches: string[] },
): string {
  const order = orderBy(list.order);
  const ranges = branches.length === 0 ? ['true'] : branches;
  const parts = ranges.map((range, i) => {
    const found =
      i === 0
        ? '0'
        : ranges
            .slice(0, i)
            .map((_, j) => `(SELECT count(*) FROM range_${j})`)
            .join(' + ');
    const enough = i === 0 ? '' : ` AND ${found} < ${take}`;
    return (
      `range_${i} AS MATERIALIZED (SELECT t.namespace, t.name, row_number() OVER (ORDER BY ${order}) + ${found} AS position FROM ${list.from} ` +
      `WHERE ${where} AND ${range}${enough} ORDER BY ${order} LIMIT ${take})`
    );
  });
  const all = ranges.map((_, i) => `SELECT * FROM range_${i}`).join(' UNION ALL ');
  return `${parts.join(', ')}, keys AS MATERIALIZED (${all} ORDER BY position LIMIT ${take})`;
}

function gatheredKeys(list: CompiledList, { where, take }: { where: string; take: number }): string {
  const { select, order } = orderAliases(list);
  return (
    `gathered AS MATERIALIZED (SELECT t.namespace, t.name, ${select} FROM ${list.from} WHERE ${where} LIMIT ${sparseLimit + boundMargin}), ` +
    `keys AS MATERIALIZED (SELECT namespace, name, row_number() OVER (ORDER BY ${order}) AS position FROM gathered ORDER BY position LIMIT ${take})`
  );
}

/** Merges both parts, up to the end of the shorter one. */
function merge(rows: Part, changed: Part, { sort }: ChunkQuery): Part {
  const compare = compareBySort(sort);
  const isShorter = changed.upTo !== undefined && (rows.upTo === undefined || compare(changed.upTo, rows.upTo) < 0);
  const upTo = isShorter ? changed.upTo : rows.upTo;
  const kept = upTo === undefined || !isShorter ? rows.items : rows.items.filter((item) => compare(item, upTo) <= 0);
  return { items: changed.items.length === 0 ? kept : [...kept, ...changed.items].toSorted(compare), upTo };
}

/** The position's values in the order of the list's columns: the sort keys, then the columns that break ties. */
function positionValues(table: Table, { sort }: ChunkQuery, after: ChunkPosition): unknown[] {
  const keys = positionKeys(sort, after).map((key, i) => (key === null ? null : sqlValue(sort[i]!.index, key)));
  const names = new Set(sort.map(({ index }) => index.name));
  const ties = [
    ...(table.namespaced && !names.has('metadata.namespace') ? [after.namespace] : []),
    ...(names.has('metadata.name') ? [] : [after.name]),
  ];
  return [...keys, ...ties];
}
