import type { IndexDefinition } from '#pkg/apimachinery/index';
import type { Column } from './table.ts';

/** The changes that make a model's columns match its declared indexes. */
export interface IndexPlan {
  /** All columns afterwards, including those to be dropped. */
  columns: Column[];
  added: Column[];
  /** Columns that are renamed and filled again: they belonged to another index of the same name and form. */
  reused: { from: string; to: Column }[];
  /**
   * Number of column names ever used in this model. A name is never reused, so that a writer that knows the old column
   * cannot read the new one.
   */
  made: number;
  /** Nothing to do. */
  unchanged: boolean;
}

/**
 * Compares declared indexes with the existing columns. An index with another path, function, type, form or default is
 * another index. Its column is reused if type and number of values are the same, because PostgreSQL counts dropped
 * columns forever; otherwise a new column replaces it. Columns to be dropped stay, unused, until the index builder
 * drops them. `made` comes from the last plan, 0 at first.
 */
export function planIndexes(present: readonly Column[], declared: readonly IndexDefinition[], made: number): IndexPlan {
  const added: Column[] = [];
  const kept = present.map((column) => {
    const wanted = column.state !== 'dropping' && declared.some((index) => sameIndex(index, column.index));
    return wanted || column.state === 'dropping'
      ? column
      : { name: column.name, index: column.index, state: 'dropping' as const };
  });
  const reused: IndexPlan['reused'] = [];
  let number = made;
  for (const index of declared) {
    if (kept.some((column) => column.state !== 'dropping' && sameIndex(index, column.index))) continue;
    number += 1;
    const column: Column = { name: `i_${number}`, index, state: 'building' };
    const old = kept.findIndex(
      ({ state, index: { name, type, multi } }) =>
        state === 'dropping' && name === index.name && type === index.type && multi === index.multi,
    );
    if (old === -1) added.push(column);
    else reused.push({ from: kept[old]!.name, to: (kept[old] = column) });
  }
  const columns = [...kept, ...added];
  return {
    columns,
    added,
    reused,
    made: number,
    unchanged: added.length === 0 && kept.every((column, i) => column === present[i]),
  };
}

function sameIndex(a: IndexDefinition, b: IndexDefinition): boolean {
  return (
    a.name === b.name &&
    a.path === b.path &&
    a.type === b.type &&
    a.multi === b.multi &&
    a.unique === b.unique &&
    a.nullable === b.nullable &&
    a.default === b.default &&
    a.computed?.id === b.computed?.id
  );
}
