import type { ComputedColumn, Table } from '../table/table.ts';

/**
 * SQL for a row's computed keys as the text of ComputedKeys, with the columns that are filled for every row. `alias` is
 * the table's.
 */
export function computedKeysSql({ computed = [] }: Pick<Table, 'computed'>, alias: string): string {
  const members = readyColumns(computed).map(
    (column) => `'"${column.index.computed.id}":' || coalesce(to_json(${keySql(column, alias)})::text, 'null')`,
  );
  return `(${["'{'", members.join(` || ',' || `), "'}'"].filter((part) => part !== '').join(' || ')})`;
}

/** The ready columns, one for each distinct computation. */
export function readyColumns(computed: readonly ComputedColumn[]): ComputedColumn[] {
  return [
    ...new Map(
      computed.filter(({ state }) => state === 'ready').map((column) => [column.index.computed.id, column]),
    ).values(),
  ];
}

/** Keys in the form that they have in memory: a date is milliseconds. */
function keySql({ name, index }: ComputedColumn, alias: string): string {
  if (index.type !== 'date') return `${alias}.${name}`;
  return index.multi
    ? `ARRAY(SELECT (extract(epoch FROM d) * 1000)::bigint FROM unnest(${alias}.${name}) d)`
    : `(extract(epoch FROM ${alias}.${name}) * 1000)::bigint`;
}
