import { sql, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import type { AccessTables } from '../access-tables.ts';
import type { ListSource, Page } from './list-answer.ts';

const firstBatchSize = 1000;
/** Large, as an order without an index is sorted again for each batch. */
const maxBatchSize = 8000;

/** A possible order of a list. */
export interface KeysetSortKey {
  /** Never null. */
  readonly expression: RawBuilder<unknown>;
  readonly type: 'text' | 'uuid' | 'boolean' | 'timestamptz';
}

export interface KeysetQuery<DB, TB extends keyof DB, Row, Shown extends object = object> {
  kysely: Kysely<AccessTables>;
  /** All rows, unordered. */
  rows: SelectQueryBuilder<DB, TB, Row>;
  order: KeysetSortKey & { isDescending: boolean };
  /** Unique; orders rows with the same sort key. */
  id: RawBuilder<unknown>;
  /** Default: uuid. */
  idType?: 'uuid' | 'bigint';
  present(row: Row): Shown;
}

/**
 * Reads a list of any length in batches, each from the end of the last one: slow clients hold no database resources. A
 * row whose sort key changes meanwhile may be returned twice or not at all; all others are returned once. Source:
 * keyset pagination.
 */
export function keysetList<DB, TB extends keyof DB, Row, Shown extends object>(
  query: KeysetQuery<DB, TB, Row, Shown>,
): ListSource<Row, Shown> {
  return { all: () => batches(query), page: (page) => readPart(query, page), present: (row) => query.present(row) };
}

async function* batches<DB, TB extends keyof DB, Row>({
  kysely,
  rows,
  order,
  id,
  idType = 'uuid',
}: KeysetQuery<DB, TB, Row>): AsyncGenerator<Row[]> {
  const { expression, type, isDescending } = order;
  // As texts, as a Date has only milliseconds.
  const keyed = ordered(rows, order, id).select([
    sql<string>`(${expression})::text`.as('sort_key'),
    sql<string>`(${id})::text`.as('sort_id'),
  ]);
  let next = keyed;
  for (let size = firstBatchSize; ; size = Math.min(size * 2, maxBatchSize)) {
    const batch = (await kysely.executeQuery(next.limit(size))).rows as (Row & { sort_key: string; sort_id: string })[];
    if (batch.length > 0) yield batch;
    if (batch.length < size) return;
    const last = batch.at(-1)!;
    next = keyed.where(
      sql<boolean>`(${expression}, ${id}) ${sql.raw(isDescending ? '<' : '>')} (${last.sort_key}::${sql.raw(type)}, ${last.sort_id}::${sql.raw(idType)})`,
    );
  }
}

function readPart<DB, TB extends keyof DB, Row>(
  { kysely, rows, order, id }: KeysetQuery<DB, TB, Row>,
  { limit, offset }: Page,
): Promise<{ count: number; rows: Row[] }> {
  const transaction = kysely.transaction().setIsolationLevel('repeatable read').setAccessMode('read only');
  return transaction.execute(async (on) => {
    const all = rows.clearSelect();
    const counted = await on.executeQuery(
      all.select((eb) => eb.fn.countAll().as('count')).$castTo<{ count: string }>(),
    );
    // Selects the ids first: subqueries in columns would also run for the rows before the offset.
    const ids = ordered(all.select(id.as('id')), order, id)
      .limit(limit)
      .offset(offset);
    const part = ordered(rows.clearWhere().where(sql<boolean>`${id} = ANY(ARRAY${ids})`), order, id);
    return { count: Number(counted.rows[0]!.count), rows: (await on.executeQuery(part)).rows };
  });
}

function ordered<DB, TB extends keyof DB, Row>(
  rows: SelectQueryBuilder<DB, TB, Row>,
  { expression, isDescending }: KeysetQuery<DB, TB, Row>['order'],
  id: RawBuilder<unknown>,
): SelectQueryBuilder<DB, TB, Row> {
  const direction = isDescending ? 'desc' : 'asc';
  return rows.orderBy(expression, direction).orderBy(id, direction);
}
