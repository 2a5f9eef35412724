import type { RowMeta } from '../server/read-table.ts';

/** The chosen objects by uid: an object of the same name that comes later is another one. */
export type Selection = ReadonlyMap<string, RowMeta>;

export function toggled(selection: Selection, row: RowMeta): Selection {
  const next = new Map(selection);
  if (!next.delete(row.uid)) next.set(row.uid, row);
  return next;
}

export function withAll(selection: Selection, rows: readonly RowMeta[]): Selection {
  return new Map([...selection, ...rows.map((row) => [row.uid, row] as const)]);
}

export function without(selection: Selection, uids: ReadonlySet<string>): Selection {
  return new Map([...selection].filter(([uid]) => !uids.has(uid)));
}
