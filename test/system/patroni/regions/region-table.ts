import { median } from '../primary/outage-table.ts';

export type RegionChangeKind = 'switchover' | 'loss';

/** The steps of a change of the region, in order. Milliseconds; a loss has no first two. */
export interface RegionSteps {
  /** Until svc had answered its requests and ended. */
  svcStops?: number;
  /** Then, until PostgreSQL had sent everything and ended. */
  regionStops?: number;
  /** Then, from the command until PostgreSQL in the other region committed. */
  promotion: number;
  /** Then, until a commit that waits for that region's standby was acknowledged. */
  standby: number;
  /** Then, until svc there acknowledged a write, its start included. */
  svcStarts: number;
  /** From the first command to the first acknowledged write. */
  whole: number;
  /** From the start of the old region's servers until both followed the other region. */
  rejoin: number;
}

/** A change of the region that is over. */
export interface RegionChange {
  kind: RegionChangeKind;
  steps: RegionSteps;
  /** Acknowledged writes that the new region lacks. */
  lost: number;
}

const columns: readonly [string, (change: RegionChange) => number | undefined][] = [
  ['svc stops', ({ steps }) => steps.svcStops],
  ['region stops', ({ steps }) => steps.regionStops],
  ['promotion', ({ steps }) => steps.promotion],
  ['standby', ({ steps }) => steps.standby],
  ['svc starts', ({ steps }) => steps.svcStarts],
  ['all', ({ steps }) => steps.whole],
  ['old region follows', ({ steps }) => steps.rejoin],
];

const titles: Record<RegionChangeKind, string> = { switchover: 'switchovers', loss: 'losses of a region' };

/** Median and maximum of each step, and how many writes were lost, as a Markdown table. */
export function regionLines(changes: readonly RegionChange[]): string[] {
  const rows = (['switchover', 'loss'] as const).flatMap((kind) => {
    const own = changes.filter((change) => change.kind === kind);
    if (own.length === 0) return [];
    const lost = own.map((change) => change.lost);
    const row = (title: string, of: (values: number[]) => number): string[] => [
      title,
      ...columns.map(([, part]) =>
        cell(
          own.flatMap((change) => part(change) ?? []),
          of,
        ),
      ),
      String(of(lost)),
    ];
    return [row(`${own.length} ${titles[kind]}, median`, median), row('maximum', (values) => Math.max(...values))];
  });
  const head = ['seconds', ...columns.map(([name]) => name), 'writes lost'];
  const widths = head.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: string[]): string => `| ${row.map((text, i) => text.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}

/** One change in a line. */
export function regionLine(change: RegionChange): string {
  const parts = columns.flatMap(([name, part]) => {
    const value = part(change);
    return value === undefined ? [] : [`${name} ${seconds(value)}`];
  });
  return `  ${change.kind.padEnd(10)} ${parts.join(', ')}; ${change.lost} writes lost`;
}

function cell(values: number[], of: (values: number[]) => number): string {
  return values.length === 0 ? '' : seconds(of(values));
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}
