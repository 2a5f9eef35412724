/** How far a backup or a restore is; looked at while it runs. */
export interface Progress {
  stage: 'starting' | 'rows' | 'indexes' | 'finishing';
  rows: number;
  /** What the database expects; 0 where nothing is known. */
  expectedRows: number;
  /** Of rows and what is around them, not compressed. */
  bytes: number;
  /** Indexes made, and to be made. */
  indexes: number;
  expectedIndexes: number;
}

export function newProgress(): Progress {
  return { stage: 'starting', rows: 0, expectedRows: 0, bytes: 0, indexes: 0, expectedIndexes: 0 };
}

/** Line ends in a piece of rows: each ends a row, as within one they are escaped. */
export function countRows(piece: Buffer): number {
  let rows = 0;
  for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) rows += 1;
  return rows;
}
