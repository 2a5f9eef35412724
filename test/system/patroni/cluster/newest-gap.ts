import type { RecordedDatabase } from '../../harness/workload/change-log-recorder.ts';

/** Revisions that a failover may have lost: above the first, up to the second. */
export interface Gap {
  after: number;
  upTo: number;
}

/** Undefined if there is none. */
export async function newestGap(database: Pick<RecordedDatabase, 'query'>): Promise<Gap | undefined> {
  const [row] = await database.query<{ after: string; up_to: string }>(
    'SELECT after, up_to FROM platform.gaps ORDER BY up_to DESC LIMIT 1',
  );
  return row === undefined ? undefined : { after: Number(row.after), upTo: Number(row.up_to) };
}
