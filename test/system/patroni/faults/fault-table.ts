import type { Recipe } from '../cluster/patroni-cluster.ts';

/** What a fault did to the writes through each server. */
export interface FaultEffect {
  name: string;
  /** For how long the fault lasted. Milliseconds. */
  lasted: number;
  /** The longest time without an acknowledged write. Milliseconds. */
  silence: Record<Recipe, number>;
  /** Whether another server was the primary in the end. */
  hasNewPrimary: boolean;
}

/** The longest time without one of these moments, from the first to the second. Milliseconds. */
export function longestSilence(moments: readonly number[], { from, to }: { from: number; to: number }): number {
  const within = moments.filter((moment) => moment > from && moment < to).toSorted((a, b) => a - b);
  return [...within, to].reduce(
    ({ longest, last }, moment) => ({ longest: Math.max(longest, moment - last), last: moment }),
    { longest: 0, last: from },
  ).longest;
}

/** All faults as a Markdown table. */
export function faultLines(effects: readonly FaultEffect[]): string[] {
  const rows = [
    ['seconds', 'lasted', 'no writes, several hosts', 'no writes, haproxy', 'another primary'],
    ...effects.map(({ name, lasted, silence, hasNewPrimary }) => [
      name,
      seconds(lasted),
      seconds(silence['several hosts']),
      seconds(silence.haproxy),
      hasNewPrimary ? 'yes' : 'no',
    ]),
  ];
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, i) => text.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [line(rows[0]!), line(widths.map((width) => '-'.repeat(width))), ...rows.slice(1).map(line)];
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
