import type { Verdict } from './check-history.ts';

const shown = 6;
/** The statistics that show how much a run proves. */
const shownStatistics = [
  'operations create ok',
  'operations update ok',
  'operations patch ok',
  'operations delete ok',
  'operations get ok',
  'operations list ok',
  'events ADDED',
  'events MODIFIED',
  'events DELETED',
  'bookmarks',
  'watches resumed',
  'watches ended expired',
];

/** What was checked, and the violations. */
export function verdictLines({ violations, counts, tolerated, statistics }: Verdict): string[] {
  return [
    `  examined: ${shownStatistics.map((name) => `${name} ${statistics[name] ?? 0}`).join(', ')}`,
    ...Object.entries(counts).flatMap(([rule, count]) => [
      `  VIOLATED ${rule}, ${count} times`,
      ...violations
        .filter((violation) => violation.rule === rule)
        .slice(0, shown)
        .map(({ text }) => `    ${text}`),
    ]),
    ...(tolerated.length === 0 ? [] : [`  tolerated ${tolerated.length} times, such as: ${tolerated[0]!}`]),
  ];
}
