import type { TableColumn } from '../server/read-table.ts';

/** A column that is shown, and where its values are in the cells of a row. */
export interface ShownColumn extends TableColumn {
  at: number;
}

/** The first column, which leads to the object; then the chosen ones in their order, or those that are always shown. */
export function shownColumns(all: readonly TableColumn[], chosen: readonly string[]): ShownColumn[] {
  const [name, ...others] = all.map((column, at) => ({ ...column, at }));
  if (name === undefined) return [];
  if (chosen.length === 0) return [name, ...others.filter(({ priority }) => priority === 0)];
  return [name, ...chosen.flatMap((wanted) => others.find((column) => column.name === wanted) ?? [])];
}
