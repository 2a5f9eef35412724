import type { Pool, PoolClient } from 'pg';
import type { ObjectPage, PageQuery } from '../store.ts';
import { isStatementTimeout } from './database-failure.ts';
import { compileList, objectColumns, orderAliases, orderedScanTime, selects, sparseLimit, storedObject, type CompiledList, type ObjectRow } from './list-query.ts';
import type { ObjectCounter } from './object-counter.ts';
import { orderBy } from './query-compiler.ts';
import type { Table } from './table.ts';

interface PageRow extends ObjectRow {
  revision: string;
  matched: string | null;
}

/**
 * One page and its total, from one snapshot. A list without selectors follows an index; one whose selectors narrow is
 * gathered by their indexes and sorted, unless it matches too much, when an ordered scan meets a page's worth soon.
 */
export class PageReader {
  readonly #pool: Pool;
  readonly #counter: ObjectCounter;

  constructor(pool: Pool, counter: ObjectCounter) {
    this.#pool = pool;
    this.#counter = counter;
  }

  async read(table: Table, query: PageQuery): Promise<ObjectPage> {
    if (!selects(query)) return this.#unselected(table, query);
    const list = compileList(table, query, 'gathered');
    if (!list.narrows) return this.#ordered(table, query, this.#pool);
    return (await this.#gathered(list, query, Math.max(sparseLimit, query.exactTotalLimit))) ?? this.#dense(list, query);
  }

  async #unselected(table: Table, query: PageQuery): Promise<ObjectPage> {
    const list = compileList(table, query, 'ordered');
    const text = orderedText(list, query, 'NULL::bigint');
    const { rows } = await this.#pool.query<PageRow>(text, list.parameters.values);
    const page = pageFromRows(rows, query);
    const total = await this.#counter.countAt(table, query.namespace, page.revision);
    if (total !== undefined) return { ...page, total };
    return this.#ordered(table, { ...query, exactTotal: true }, this.#pool);
  }

  /** Undefined if more match than `limit`. */
  async #gathered(list: CompiledList, query: PageQuery, limit: number): Promise<ObjectPage | undefined> {
    const { rows } = await this.#pool.query<PageRow>(gatheredText(list, query, limit + 1), list.parameters.values);
    return Number(rows[0]!.matched) > limit ? undefined : pageFromRows(rows, query);
  }

  /** Many match: look along the order, for a while; if the matches hide at its end, gather and sort them all. */
  async #dense(list: CompiledList, query: PageQuery): Promise<ObjectPage> {
    const client = await this.#pool.connect();
    try {
      return await withTimeLimit(client, () => this.#ordered(list.table, query, client));
    } catch (error) {
      if (!isStatementTimeout(error)) throw error;
    } finally {
      client.release();
    }
    const { rows } = await this.#pool.query<PageRow>(gatheredText(list, query), list.parameters.values);
    return pageFromRows(rows, query);
  }

  async #ordered(table: Table, query: PageQuery, runner: Pick<PoolClient, 'query'>): Promise<ObjectPage> {
    const list = compileList(table, query, 'ordered');
    // In an order, so that an index is walked, and only as far as the count goes.
    const bound = query.exactTotal ? '' : ` ORDER BY t.namespace, t.name LIMIT ${query.exactTotalLimit + 1}`;
    const counted = `SELECT FROM ${list.from} WHERE ${list.where}${bound}`;
    const { rows } = await runner.query<PageRow>(orderedText(list, query, `(SELECT count(*) FROM (${counted}) c)`), list.parameters.values);
    return pageFromRows(rows, query);
  }
}

async function withTimeLimit<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${orderedScanTime}`);
  try {
    return await work();
  } finally {
    await client.query('ROLLBACK');
  }
}

/** Keys of the page by the order's index, one more than asked for; then the objects of these keys. */
function orderedText(list: CompiledList, { page, size }: PageQuery, total: string): string {
  const keys =
    `SELECT t.namespace, t.name, row_number() OVER (ORDER BY ${orderBy(list.order)}) AS position FROM ${list.from} WHERE ${list.where} ` +
    `ORDER BY ${orderBy(list.order)} LIMIT ${size + 1} OFFSET ${(page - 1) * size}`;
  return (
    `WITH keys AS MATERIALIZED (${keys}) SELECT h.revision, h.matched, r.* ` +
    `FROM (SELECT (SELECT max(rev) FROM platform.change_log) AS revision, ${total} AS matched) h ` +
    `LEFT JOIN (SELECT keys.position, ${objectColumns} FROM keys JOIN ${list.from} USING (namespace, name)) r ON true ORDER BY r.position`
  );
}

/** Keys of all matches by the selectors' indexes, sorted; then the objects of the page. Without a limit, all are counted. */
function gatheredText(list: CompiledList, { page, size }: PageQuery, limit?: number): string {
  const { select, order } = orderAliases(list);
  const bound = limit === undefined ? '' : ` LIMIT ${limit}`;
  return (
    `WITH matches AS MATERIALIZED (SELECT t.namespace, t.name, ${select} FROM ${list.from} WHERE ${list.where}${bound}), ` +
    `keys AS MATERIALIZED (SELECT namespace, name, row_number() OVER (ORDER BY ${order}) AS position FROM matches ORDER BY position LIMIT ${size + 1} OFFSET ${(page - 1) * size}) ` +
    `SELECT h.revision, h.matched, r.* FROM (SELECT (SELECT max(rev) FROM platform.change_log) AS revision, (SELECT count(*) FROM matches) AS matched) h ` +
    `LEFT JOIN (SELECT keys.position, ${objectColumns} FROM keys JOIN ${list.from} USING (namespace, name)) r ON true ORDER BY r.position`
  );
}

function pageFromRows(rows: readonly PageRow[], query: PageQuery): ObjectPage {
  const header = rows[0]!;
  const found = rows.filter((row) => row.rev !== null);
  const matched = Number(header.matched ?? 0);
  const totalIsLowerBound = !query.exactTotal && matched > query.exactTotalLimit;
  return {
    revision: Number(header.revision),
    items: found.slice(0, query.size).map(storedObject),
    total: totalIsLowerBound ? query.exactTotalLimit : matched,
    totalIsLowerBound,
    hasNext: found.length > query.size,
  };
}
