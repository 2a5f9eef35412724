import type { Pool, PoolClient } from 'pg';
import type { ObjectPage, PageQuery, StoredObject } from '../../store.ts';
import {
  boundedObjects,
  compileList,
  orderAliases,
  hasSelector,
  sparseLimit,
  storedObject,
  topmostKeys,
  type CompiledList,
  type ObjectRow,
  type PageBound,
} from './list-query.ts';
import type { LargeReads } from '../connection/large-reads.ts';
import { boundMargin, type MatchBounds } from './match-bounds.ts';
import type { ObjectCounter } from './object-counter.ts';
import { cursorColumns, ObjectCursor, pieceBytes } from './object-cursor.ts';
import { PageMemory } from './page-memory.ts';
import { orderBy } from './query-compiler.ts';
import type { Snapshots } from './snapshots.ts';
import { queryWithTimeout } from './query-with-timeout.ts';
import type { Table } from '../table/table.ts';

/** Bytes of bodies read at once; a larger page is read piece by piece. */
const pageBytes = 4 * 1024 * 1024;

interface PageHeader {
  revision: string;
  matched: string | null;
  /** Number of objects in the page, plus one if more follow. */
  found: string;
}

export interface PageReaderOptions {
  pool: Pool;
  counter: ObjectCounter;
  bounds: MatchBounds;
  snapshots: Snapshots;
  large: LargeReads;
}

/** The SQL that finds the keys of a page. It ends in a relation `keys` of namespace, name and position. */
interface PagePlan {
  list: CompiledList;
  keys: string;
  total: string;
}

/**
 * Reads one page and its total from one snapshot. A list without selectors follows an index. Matches of narrowing
 * selectors are gathered by their indexes and sorted; if there are too many, an ordered scan finds a page sooner.
 */
export class PageReader {
  readonly #pool: Pool;
  readonly #counter: ObjectCounter;
  readonly #bounds: MatchBounds;
  readonly #snapshots: Snapshots;
  readonly #largeReads: LargeReads;
  readonly #memory: PageMemory;

  constructor({ pool, counter, bounds, snapshots, large }: PageReaderOptions) {
    this.#largeReads = large;
    this.#memory = new PageMemory(pageBytes, large);
    this.#pool = pool;
    this.#counter = counter;
    this.#bounds = bounds;
    this.#snapshots = snapshots;
  }

  async read(table: Table, query: PageQuery): Promise<ObjectPage> {
    if (!hasSelector(query)) return this.#unselected(table, query);
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
   * If the matches are known to exceed the counting limit, only the page along the order is read. Undefined if that is
   * not certain.
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

  /** For selectors that only exclude objects: the remaining ones usually fill a page soon. */
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

  /** Undefined if there are too many matches to sort or count. */
  async #gathered(list: CompiledList, query: PageQuery): Promise<ObjectPage | undefined> {
    const limit = Math.max(sparseLimit, query.exactTotalLimit);
    const found = this.#bounds.counting(list.table, query);
    const plan = gathered(list, query, limit + boundMargin);
    const { rows } = await this.#query(plan, query, this.#pool);
    const matched = Number(rows[0]!.matched);
    if (matched <= limit) return this.#page(plan, query, rows);
    found(matched);
    return undefined;
  }

  /**
   * For many matches: scans along the order with a timeout. If the matches lie at the end of the order, gathers and
   * sorts all of them.
   */
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
    return this.#memory.read(
      list.table,
      {
        limit: query.size,
        namespace: query.namespace,
        readBudget: query.readBudget,
        holdsConnection: runner !== this.#pool,
      },
      { read, isCut: ({ rows }) => isCut(rows, query), itemsOf: ({ rows }) => itemsOf(rows) },
    );
  }

  async #page(plan: PagePlan, query: PageQuery, rows: readonly PageRow[]): Promise<ObjectPage> {
    const header = rows[0]!;
    if (isCut(rows, query)) return this.#large(plan, query);
    return { ...facts(header, query), items: itemsOf(rows) };
  }

  /** Reads the page again in a snapshot that is held until the page has been read. */
  async #large(plan: PagePlan, query: PageQuery): Promise<ObjectPage> {
    const { list } = plan;
    const objects = `SELECT keys.position, ${cursorColumns(list.table)} FROM keys JOIN ${list.from} USING (namespace, name) WHERE keys.position <= ${query.page * query.size}`;
    const { values } = list.parameters;
    await query.readBudget?.admit(pieceBytes);
    const snapshot = await this.#snapshots.begin(query.readBudget?.owner);
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
        rest: { revision, objects: cursor.objects(query.readBudget), close: () => cursor.close() },
      };
    } catch (error) {
      await snapshot.end();
      throw error;
    }
  }
}

/** Closes the page's snapshot if `asked` fails. */
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

/** Are objects of the page missing from the rows? */
function isCut(rows: readonly PageRow[], { size }: PageQuery): boolean {
  return rows.filter((row) => row.rev !== null).length < Math.min(Number(rows[0]!.found), size);
}

function headed({ keys, total }: PagePlan): string {
  return `WITH ${keys} SELECT * FROM (SELECT (SELECT max(rev) FROM platform.change_log) AS revision, ${total} AS matched, (SELECT count(*) FROM keys) AS found) h`;
}

/** Keys of the page by the order's index, plus one more. */
function ordered(list: CompiledList, { page, size }: PageQuery, total = 'NULL::bigint'): PagePlan {
  const order = orderBy(list.order);
  const keys =
    `keys AS MATERIALIZED (SELECT t.namespace, t.name, row_number() OVER (ORDER BY ${order}) AS position FROM ${list.from} WHERE ${list.where} ` +
    `ORDER BY ${order} LIMIT ${size + 1} OFFSET ${(page - 1) * size})`;
  return { list, keys, total };
}

function counted(list: CompiledList, query: PageQuery): PagePlan {
  // The ORDER BY makes PostgreSQL scan an index, and stop at the counting limit.
  const bound = query.exactTotal ? '' : ` ORDER BY t.namespace, t.name LIMIT ${query.exactTotalLimit + boundMargin}`;
  return ordered(list, query, `(SELECT count(*) FROM (SELECT FROM ${list.from} WHERE ${list.where}${bound}) c)`);
}

/** Keys of all matches by the selectors' indexes, sorted. Without `limit`, all matches are counted. */
function gathered(list: CompiledList, { page, size }: PageQuery, limit?: number): PagePlan {
  const { select, order } = orderAliases(list);
  const bound = limit === undefined ? '' : ` LIMIT ${limit}`;
  const keys =
    `matches AS MATERIALIZED (SELECT t.namespace, t.name, ${select} FROM ${list.from} WHERE ${list.where}${bound}), ` +
    `keys AS MATERIALIZED (SELECT namespace, name, row_number() OVER (ORDER BY ${order}) AS position FROM matches ORDER BY position LIMIT ${size + 1} OFFSET ${(page - 1) * size})`;
  return { list, keys, total: '(SELECT count(*) FROM matches)' };
}

/**
 * Like `gathered`, without the number of matches. The planner must not flatten the inner select: the order's index was
 * already tried without success.
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
