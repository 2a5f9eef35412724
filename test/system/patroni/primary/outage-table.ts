import type { Recipe } from '../cluster/patroni-cluster.ts';

/** What ends the primary. */
export type ChangeKind = 'switchover' | 'kill';

/** The parts of one outage, in order. Milliseconds. */
export interface Outage {
  kind: ChangeKind;
  /** Until another Patroni took the lock: of a kill, until it noticed; of a switchover, the old primary's stop. */
  detection: number;
  /** Until its PostgreSQL committed. */
  promotion: number;
  /** Until a commit that waits for a standby was acknowledged. */
  standby: number;
  /** After that, until haproxy led there. */
  haproxy: number;
  /** After that, until svc acknowledged a write; with several hosts, after `standby`. */
  own: Record<Recipe, number>;
  /** From the change to the first acknowledged write. */
  whole: Record<Recipe, number>;
}

/** svc's own part of an outage should not be longer. Milliseconds. */
const goalMs = 1000;

const columns: readonly [string, (outage: Outage) => number][] = [
  ['detection', ({ detection }) => detection],
  ['promotion', ({ promotion }) => promotion],
  ['standby', ({ standby }) => standby],
  ['svc, several hosts', ({ own }) => own['several hosts']],
  ['all, several hosts', ({ whole }) => whole['several hosts']],
  ['haproxy', ({ haproxy }) => haproxy],
  ['svc, haproxy', ({ own }) => own.haproxy],
  ['all, haproxy', ({ whole }) => whole.haproxy],
];

/** Median and maximum of each part, as a Markdown table, and whether svc's own part meets the goal. */
export function outageLines(outages: readonly Outage[]): string[] {
  const rows = (['switchover', 'kill'] as const).flatMap((kind) => {
    const own = outages.filter((outage) => outage.kind === kind);
    if (own.length === 0) return [];
    return [
      [`${own.length} ${kind}s, median`, ...columns.map(([, part]) => seconds(median(own.map(part))))],
      ['maximum', ...columns.map(([, part]) => seconds(Math.max(...own.map(part))))],
    ];
  });
  const head = ['seconds', ...columns.map(([name]) => name)];
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: string[]): string => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  const late = outages.flatMap(({ own }) => Object.values(own)).filter((ms) => ms > goalMs).length;
  return [
    line(head),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.map(line),
    `svc's own part at most ${seconds(goalMs)} s: ${late === 0 ? 'met' : `MISSED ${late} times`} of ${outages.length * 2}`,
  ];
}

/** One outage in a line. */
export function outageLine({ kind, detection, promotion, standby, haproxy, own, whole }: Outage): string {
  return `  ${kind.padEnd(10)} detection ${seconds(detection)}, promotion ${seconds(promotion)}, standby ${seconds(standby)}; svc with several hosts ${seconds(own['several hosts'])} (${seconds(whole['several hosts'])} in all); haproxy ${seconds(haproxy)}, svc behind it ${seconds(own.haproxy)} (${seconds(whole.haproxy)} in all)`;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}
