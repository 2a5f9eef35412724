import type { Pool, PoolClient } from 'pg';
import type { ObjectPage, PageQuery, StoredObject } from '../../store.ts';
import {
  boundedObjects,
  compileList,
  orderAliases,
  selects,
  sparseLimit,
  storedObject,
  topmostKeys,
  type CompiledList,
  type ObjectRow,
  type PageBound,
} from './list-query.ts';
import type { LargeReads } from '../connection/large-reads.ts';
import { margin, type MatchBounds } from './match-bounds.ts';
import type { ObjectCounter } from './object-counter.ts';
import { cursorColumns, ObjectCursor, pieceBytes } from './object-cursor.ts';
import { PageRoom } from './page-memory.ts';
import { orderBy } from './query-compiler.ts';
import type { Snapshots } from './snapshots.ts';
import { queryWithTimeout } from './quick-query.ts';
import type { Table } from '../table/table.ts';

/** Bodies read at once; a larger page is read piece by piece. */
const pageBytes = 4 * 1024 * 1024;

interface PageHeader {
  revision: string;
  matched: string | null;
  /** Objects of the page, and one where more follow. */
  found: string;
}

export interface PageReaderOptions {
  pool: Pool;
  counter: ObjectCounter;
  bounds: MatchBounds;
  snapshots: Snapshots;
  large: LargeReads;
}

/** How the keys of a page are found: ends in a relation `keys` of namespace, name and position. */
interface PagePlan {
  list: CompiledList;
  keys: string;
  total: string;
}

/**
 * One page and its total, from one snapshot. A list without selectors follows an index; one whose selectors narrow is
 * gathered by their indexes and sorted, unless it matches too much, when an ordered scan meets a page's worth soon.
 */
export class PageReader {
  readonly #pool: Pool;
  readonly #counter: ObjectCounter;
  readonly #bounds: MatchBounds;
  readonly #snapshots: Snapshots;
  readonly #largeReads: LargeReads;
  readonly #room: PageRoom;

  constructor({ pool, counter, bounds, snapshots, large }: PageReaderOptions) {
    this.#largeReads = large;
    this.#room = new PageRoom(pageBytes, large);
    this.#pool = pool;
    this.#counter = counter;
    this.#bounds = bounds;
    this.#snapshots = snapshots;
  }

  async read(table: Table, query: PageQuery): Promise<ObjectPage> {
    if (!selects(query)) return this.#unselected(table, query);
    const list = compileList(table, query, 'gathered');
    if (!list.narrows) return (await this.#abundant(list, query)) ?? this.#scanned(table, query);
    return (
      (await this.#abundant(list, query)) ??
      (await this.#gathered(list, query)) ??
      (await this.#abundant(list, query)) ??
      this.#dense(list, query)
    );
  }

  /**
   * Where more is known to match than is counted, a page along the order is all there is to do. Undefined if that is
   * not known for certain.
   */
  async #abundant({ table, narrows }: CompiledList, query: PageQuery): Promise<ObjectPage | undefined> {
    const limit = Math.max(narrows ? sparseLimit : 0, query.exactTotalLimit);
    if (query.exactTotal || !this.#bounds.exceeds(table, query, limit)) return undefined;
    const plan = ordered(compileList(table, query, 'ordered'), query);
    const rows = narrows
      ? (await queryWithTimeout(this.#pool, (runner) => this.#query(plan, query, runner)))?.rows
      : (await this.#query(plan, query, this.#pool)).rows;
    const page =
      rows === undefined
        ? await this.#run(topmost(compileList(table, query, 'gathered'), query), query)
        : await this.#page(plan, query, rows);
    if (await orClose(page, this.#bounds.exceedsAt(table, query, { revision: page.revision, limit })))
      return { ...page, total: query.exactTotalLimit, totalIsLowerBound: true };
    await page.rest?.close();
    return undefined;
  }

  /** Selectors that only leave out: what they leave fills a page soon, as a rule. */
  async #scanned(table: Table, query: PageQuery): Promise<ObjectPage> {
    const found = this.#bounds.counting(table, query);
    const plan = counted(compileList(table, query, 'ordered'), query);
    const { rows } = await this.#query(plan, query, this.#pool);
    const matched = Number(rows[0]!.matched);
    if (matched > query.exactTotalLimit) found(matched);
    return this.#page(plan, query, rows);
  }

  async #unselected(table: Table, query: PageQuery): Promise<ObjectPage> {
    const page = await this.#run(ordered(compileList(table, query, 'ordered'), query), query);
    const total = await orClose(page, this.#counter.countAt(table, query.namespace, page.revision));
    if (total !== undefined) return { ...page, total, totalIsLowerBound: false };
    await page.rest?.close();
    const exact = { ...query, exactTotal: true };
    return this.#run(counted(compileList(table, exact, 'ordered'), exact), exact);
  }

  /** Undefined if more match than is worth sorting, or counting. */
  async #gathered(list: CompiledList, query: PageQuery): Promise<ObjectPage | undefined> {
    const limit = Math.max(sparseLimit, query.exactTotalLimit);
    const found = this.#bounds.counting(list.table, query);
    const plan = gathered(list, query, limit + margin);
    const { rows } = await this.#query(plan, query, this.#pool);
    const matched = Number(rows[0]!.matched);
    if (matched <= limit) return this.#page(plan, query, rows);
    found(matched);
    return undefined;
  }

  /** Many match: look along the order, for a while; if the matches hide at its end, gather and sort them all. */
  async #dense(list: CompiledList, query: PageQuery): Promise<ObjectPage> {
    const plan = counted(compileList(list.table, query, 'ordered'), query);
    const found = await queryWithTimeout(this.#pool, (runner) => this.#query(plan, query, runner));
    return found === undefined
      ? this.#run(gathered(compileList(list.table, query, 'gathered'), query), query)
      : this.#page(plan, query, found.rows);
  }

  async #run(plan: PagePlan, query: PageQuery): Promise<ObjectPage> {
    return this.#page(plan, query, (await this.#query(plan, query, this.#pool)).rows);
  }

  #query(plan: PagePlan, query: PageQuery, runner: Pick<PoolClient, 'query'>): Promise<{ rows: PageRow[] }> {
    const { list } = plan;
    const read = (bound: PageBound): Promise<{ rows: PageRow[] }> => {
      const objects = boundedObjects(list, bound, `keys.position <= ${query.page * query.size}`);
      return runner.query<PageRow>(
        `${headed(plan)} LEFT JOIN (${objects}) r ON true ORDER BY r.position`,
        list.parameters.values,
      );
    };
    return this.#room.read(
      list.table,
      { limit: query.size, namespace: query.namespace, room: query.room, holdsConnection: runner !== this.#pool },
      { read, isCut: ({ rows }) => isCut(rows, query), itemsOf: ({ rows }) => itemsOf(rows) },
    );
  }

  async #page(plan: PagePlan, query: PageQuery, rows: readonly PageRow[]): Promise<ObjectPage> {
    const header = rows[0]!;
    if (isCut(rows, query)) return this.#large(plan, query);
    return { ...facts(header, query), items: itemsOf(rows) };
  }

  /** Everything anew in a snapshot that is held until the page has been read. */
  async #large(plan: PagePlan, query: PageQuery): Promise<ObjectPage> {
    const { list } = plan;
    const objects = `SELECT keys.position, ${cursorColumns} FROM keys JOIN ${list.from} USING (namespace, name) WHERE keys.position <= ${query.page * query.size}`;
    const { values } = list.parameters;
    await query.room?.admit(pieceBytes);
    const snapshot = await this.#snapshots.begin(query.room?.owner);
    try {
      const { rows } = await snapshot.client.query<PageHeader>(headed(plan), values);
      const text = `WITH ${plan.keys} SELECT * FROM (${objects}) o ORDER BY position`;
      const cursor = await ObjectCursor.open(
        { snapshot, table: list.table, large: this.#largeReads },
        { text, values },
      );
      const { revision, ...rest } = facts(rows[0]!, query);
      return {
        ...rest,
        revision,
        items: [],
        rest: { revision, objects: cursor.objects(query.room), close: () => cursor.close() },
      };
    } catch (error) {
      await snapshot.end();
      throw error;
    }
  }
}

/** A page that nobody will get holds no snapshot. */
async function orClose<T>(page: ObjectPage, asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    await page.rest?.close();
    throw error;
  }
}

type PageRow = PageHeader & ObjectRow;

function itemsOf(rows: readonly PageRow[]): StoredObject[] {
  return rows.filter((row) => row.rev !== null).map(storedObject);
}

/** Are not all objects of the page among the rows? */
function isCut(rows: readonly PageRow[], { size }: PageQuery): boolean {
  return rows.filter((row) => row.rev !== null).length < Math.min(Number(rows[0]!.found), size);
}

function headed({ keys, total }: PagePlan): string {
  return `WITH ${keys} SELECT * FROM (SELECT (SELECT max(rev) FROM platform.change_log) AS revision, ${total} AS matched, (SELECT count(*) FROM keys) AS found) h`;
}

/** Keys of the page by the order's index, one more than asked for. */
function ordered(list: CompiledList, { page, size }: PageQuery, total = 'NULL::bigint'): PagePlan {
  const order = orderBy(list.order);
  const keys =
    `keys AS MATERIALIZED (SELECT t.namespace, t.name, row_number() OVER (ORDER BY ${order}) AS position FROM ${list.from} WHERE ${list.where} ` +
    `ORDER BY ${order} LIMIT ${size + 1} OFFSET ${(page - 1) * size})`;
  return { list, keys, total };
}

function counted(list: CompiledList, query: PageQuery): PagePlan {
  // In an order, so that an index is walked, and only as far as the count goes.
  const bound = query.exactTotal ? '' : ` ORDER BY t.namespace, t.name LIMIT ${query.exactTotalLimit + margin}`;
  return ordered(list, query, `(SELECT count(*) FROM (SELECT FROM ${list.from} WHERE ${list.where}${bound}) c)`);
}

/** Keys of all matches by the selectors' indexes, sorted. Without a limit, all are counted. */
function gathered(list: CompiledList, { page, size }: PageQuery, limit?: number): PagePlan {
  const { select, order } = orderAliases(list);
  const bound = limit === undefined ? '' : ` LIMIT ${limit}`;
  const keys =
    `matches AS MATERIALIZED (SELECT t.namespace, t.name, ${select} FROM ${list.from} WHERE ${list.where}${bound}), ` +
    `keys AS MATERIALIZED (SELECT namespace, name, row_number() OVER (ORDER BY ${order}) AS position FROM matches ORDER BY position LIMIT ${size + 1} OFFSET ${(page - 1) * size})`;
  return { list, keys, total: '(SELECT count(*) FROM matches)' };
}

/**
 * The same without their number. The inner select is not to be seen through: the order's index is what was tried in
 * vain.
 */
function topmost(list: CompiledList, { page, size }: PageQuery): PagePlan {
  return { list, keys: topmostKeys(list, { skip: (page - 1) * size, take: size + 1 }), total: 'NULL::bigint' };
}

function facts({ revision, matched, found }: PageHeader, query: PageQuery): Omit<ObjectPage, 'items'> {
  const matches = Number(matched ?? 0);
  const totalIsLowerBound = !query.exactTotal && matches > query.exactTotalLimit;
  return {
    revision: Number(revision),
    total: totalIsLowerBound ? query.exactTotalLimit : matches,
    totalIsLowerBound,
    hasNext: Number(found) > query.size,
  };
}
