/** Revisions that a failover may have lost: above the first number, up to the second. */
export type Gap = readonly [after: number, upTo: number];

/** SQL for JSON of all gaps in their order; null if there is none. Compaction removes old ones, so they are few. */
export const gapsText = '(SELECT json_agg(json_build_array(after, up_to) ORDER BY after) FROM platform.gaps)';

/** SQL: does this revision lie in a gap? */
export function isInGap(revision: number | string): string {
  return `EXISTS (SELECT FROM platform.gaps WHERE ${revision} > after AND ${revision} <= up_to)`;
}
