import type { RowMeta } from '../server/read-table.ts';

/** The chosen objects by uid: an object of the same name that comes later is another one. */
export type SelectedRows = ReadonlyMap<string, RowMeta>;

export function toggled(selection: SelectedRows, row: RowMeta): SelectedRows {
  const next = new Map(selection);
  if (!next.delete(row.uid)) next.set(row.uid, row);
  return next;
}

export function withAll(selection: SelectedRows, rows: readonly RowMeta[]): SelectedRows {
  return new Map([...selection, ...rows.map((row) => [row.uid, row] as const)]);
}

export function without(selection: SelectedRows, uids: ReadonlySet<string>): SelectedRows {
  return new Map([...selection].filter(([uid]) => !uids.has(uid)));
}
