/** The progress of a backup or a restore; read while it runs. */
export interface Progress {
  stage: 'starting' | 'rows' | 'indexes' | 'finishing';
  rows: number;
  /** The database's estimate; 0 if unknown. */
  expectedRows: number;
  /** Uncompressed bytes of rows and their framing. */
  bytes: number;
  /** Indexes created, and their total. */
  indexes: number;
  expectedIndexes: number;
}

export function newProgress(): Progress {
  return { stage: 'starting', rows: 0, expectedRows: 0, bytes: 0, indexes: 0, expectedIndexes: 0 };
}

/** Counts line ends in a piece of rows: each ends a row, because line ends within a row are escaped. */
export function countRows(piece: Buffer): number {
  let rows = 0;
  for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) rows += 1;
  return rows;
}
