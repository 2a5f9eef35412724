import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { ListSource, Page } from './list-answer.ts';

const FIRST_BATCH = 1000;
/** An order without an index is sorted anew for each batch. */
const LARGEST_BATCH = 8000;

/** By what a list can be ordered. */
export interface KeysetSortKey {
  /** Never null. */
  readonly expression: RawBuilder<unknown>;
  readonly type: 'text' | 'uuid' | 'boolean' | 'timestamptz';
}

export interface KeysetQuery<Row, Shown extends object = object> {
  kysely: Kysely<unknown>;
  columns: RawBuilder<unknown>;
  /** Tables and joins. */
  from: RawBuilder<unknown>;
  /** All of them must hold. */
  where: readonly RawBuilder<unknown>[];
  order: KeysetSortKey & { isDescending: boolean };
  /** Unique: decides between those that the order leaves equal. */
  id: RawBuilder<unknown>;
  /** Default: uuid. */
  idType?: 'uuid' | 'bigint';
  present(row: Row): Shown;
}

type Keyed<Row> = Row & { sort_key: string; sort_id: string };

/**
 * A list of any length, a batch at a time, each from where the last one ended: nothing is held in the database while a
 * client takes its time. A row whose place in the order changes meanwhile may so be seen twice, or not at all; all
 * others are seen once. Source: keyset pagination.
 */
export function keysetList<Row, Shown extends object>(query: KeysetQuery<Row, Shown>): ListSource<Row, Shown> {
  return { all: () => batches(query), page: (page) => readPart(query, page), present: (row) => query.present(row) };
}

async function* batches<Row>({
  kysely,
  columns,
  from,
  where,
  order,
  id,
  idType = 'uuid',
}: KeysetQuery<Row>): AsyncGenerator<Row[]> {
  const { expression, type, isDescending } = order;
  let after = sql`true`;
  for (let size = FIRST_BATCH; ; size = Math.min(size * 2, LARGEST_BATCH)) {
    // As texts: a Date would lose what is finer than a millisecond.
    const { rows } = await sql<
      Keyed<Row>
    >`SELECT ${columns}, (${expression})::text AS sort_key, (${id})::text AS sort_id
      FROM ${from} WHERE ${all([...where, after])} ${orderBy(order, id)} LIMIT ${size}`.execute(kysely);
    if (rows.length > 0) yield rows;
    if (rows.length < size) return;
    const last = rows.at(-1)!;
    after = sql`(${expression}, ${id}) ${sql.raw(isDescending ? '<' : '>')} (${last.sort_key}::${sql.raw(type)}, ${last.sort_id}::${sql.raw(idType)})`;
  }
}

function readPart<Row>(
  { kysely, columns, from, where, order, id }: KeysetQuery<Row>,
  { limit, offset }: Page,
): Promise<{ count: number; rows: Row[] }> {
  const transaction = kysely.transaction().setIsolationLevel('repeatable read').setAccessMode('read only');
  return transaction.execute(async (on) => {
    const counted = await sql<{ count: string }>`SELECT count(*) AS count FROM ${from} WHERE ${all(where)}`.execute(on);
    // Columns that are queries of their own would be asked for all rows before the offset, too.
    const ids = sql`ARRAY(SELECT ${id} FROM ${from} WHERE ${all(where)} ${orderBy(order, id)} LIMIT ${limit} OFFSET ${offset})`;
    const { rows } =
      await sql<Row>`SELECT ${columns} FROM ${from} WHERE ${id} = ANY(${ids}) ${orderBy(order, id)}`.execute(on);
    return { count: Number(counted.rows[0]!.count), rows };
  });
}

const all = (conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> =>
  conditions.length === 0 ? sql`true` : sql.join(conditions, sql` AND `);

function orderBy(
  { expression, isDescending }: KeysetQuery<never>['order'],
  id: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const direction = sql.raw(isDescending ? 'DESC' : 'ASC');
  return sql`ORDER BY ${expression} ${direction}, ${id} ${direction}`;
}
