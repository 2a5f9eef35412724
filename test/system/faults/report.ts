import type { Verdict } from '../harness/history/checker/check-history.ts';
import type { FaultOutcome } from './fault-run.ts';
import type { RoundResult } from './round.ts';

const shownViolations = 12;
const shownProblems = 20;
const longestLine = 400;
const nameWidth = 24;

export const heading = `${'seconds'.padStart(8)}  ${'fault'.padEnd(nameWidth)}  ${'ok'.padStart(6)} ${'refused'.padStart(8)} ${'unknown'.padStart(8)}  recovered after`;

/**
 * One fault: its time, the clients' results until the rate was normal again, and how long that took after the fault was
 * healed.
 */
export function outcomeLine({ at, names, tally, recovery, skipped, cutShort, failures }: FaultOutcome): string {
  const head = `${at.toFixed(1).padStart(8)}  ${names.padEnd(nameWidth)}  `;
  if (skipped !== undefined) return `${head}NOT TRIED: ${skipped}`;
  const { ok, refused, unknown } = tally;
  const counts = `${String(ok).padStart(6)} ${String(refused).padStart(8)} ${String(unknown).padStart(8)}`;
  const lines = [`${head}${counts}  ${recovery === undefined ? 'NEVER' : `${recovery.toFixed(1)} s`}`];
  for (const words of cutShort) lines.push(`          cut short ${shortened(words)}`);
  for (const failure of failures) lines.push(`          FAILED ${shortened(failure)}`);
  return lines.join('\n');
}

/** What was checked, and the violations. */
export function verdictText({ violations, counts, statistics }: Verdict, { problems }: RoundResult): string {
  const lines = ['', 'examined'];
  for (const [what, count] of Object.entries(statistics))
    lines.push(`  ${what.padEnd(34)} ${String(count).padStart(8)}`);
  if (problems.length > 0) lines.push('', `${problems.length} problems besides the history`);
  for (const problem of problems.slice(0, shownProblems)) lines.push(`  ${shortened(problem)}`);
  for (const [rule, count] of Object.entries(counts))
    lines.push(
      '',
      `VIOLATED ${rule}, ${count} times`,
      ...violations
        .filter((violation) => violation.rule === rule)
        .slice(0, shownViolations)
        .map(({ text }) => `  ${text}`),
    );
  return lines.join('\n');
}

function shortened(text: string): string {
  return text.length > longestLine ? `${text.slice(0, longestLine)}...` : text;
}
