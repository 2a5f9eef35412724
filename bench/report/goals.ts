import type { ComparedContender } from './comparison.ts';
import type { Report } from './report.ts';
import { number } from '../../test/system/harness/run/table.ts';

/** The goal that the median ratio to a contender is at least, or at most, a number. */
export function ratioGoal(
  report: Report,
  goal: string,
  compared: readonly ComparedContender[],
  wanted: { to: string; atLeast: number } | { to: string; atMost: number },
): void {
  const ratio = compared.find(({ name }) => name === wanted.to)?.ratio;
  if (ratio === undefined) return;
  const [bound, met] =
    'atLeast' in wanted
      ? [`at least ${wanted.atLeast}`, ratio.median >= wanted.atLeast]
      : [`at most ${wanted.atMost}`, ratio.median <= wanted.atMost];
  report.goal({
    goal,
    wanted: `${bound} times ${wanted.to}`,
    measured: `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}..${ratio.max.toFixed(2)})`,
    met,
  });
}

/** The goal that the worst of several values stays below a bound. */
export function worstGoal(
  report: Report,
  goal: string,
  { values, under, unit }: { values: ReadonlyMap<string, number>; under: number; unit: string },
): void {
  const [worst] = [...values].toSorted((a, b) => b[1] - a[1]);
  if (worst === undefined) return;
  const [where, value] = worst;
  report.goal({
    goal,
    wanted: `under ${under} ${unit}`,
    measured: `${number(value)} ${unit}, the worst: ${where}`,
    met: value < under,
  });
}

/** The goal that a value stays below a bound. */
export function boundGoal(
  report: Report,
  goal: string,
  { value, under, unit }: { value: number; under: number; unit: string },
): void {
  report.goal({ goal, wanted: `under ${under} ${unit}`, measured: `${number(value)} ${unit}`, met: value < under });
}
