import type { IndexDefinition } from '#pkg/apimachinery/index';
import type { Column } from './table.ts';

/** What must change so that a model's columns are those of its declared indexes. */
export interface IndexPlan {
  /** All columns afterwards, those that are on their way out included. */
  columns: Column[];
  added: Column[];
  /**
   * Columns that are kept under another name, to be filled anew: they were those of another index of the same name and
   * form.
   */
  reused: { from: string; to: Column }[];
  /**
   * Names that columns of this model ever had: one is never used again, lest who still knows the old column reads the
   * new one.
   */
  made: number;
  /** Nothing to do. */
  unchanged: boolean;
}

/**
 * Compares declared indexes with the columns there are. An index whose path, function, type, form or default changed is
 * another index. Its column is reused where the type and number of values are the same, since PostgreSQL counts dropped
 * columns for ever; otherwise it goes and a new one comes. Columns to be dropped stay, unused, until the index builder
 * has dropped them. `made` is what the last plan said, 0 at first.
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
