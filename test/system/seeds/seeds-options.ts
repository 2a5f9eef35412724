import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { text, wholeNumber } from '../harness/run/option-values.ts';

export interface SeedsOptions {
  runs: number;
  /** Seed of the first run; the following runs increment it. */
  seed: number;
  concurrency: number;
  summaryFile: string | undefined;
}

export const usage = `Usage: make seeds ARGS='...'
  --runs=10000         how many
  --seed=N             of the first run, the next ones have the next; default a new one, printed first
  --concurrency=8      runs side by side, each on a server of its own
  --summary=FILE       writes {"passed", "failed"}
`;

/** Throws an Error that describes the problem. */
export function parseSeedsOptions(args: string[]): SeedsOptions {
  const { values } = parseArgs({ args, options: { runs: text, seed: text, concurrency: text, summary: text } });
  return {
    runs: wholeNumber('runs', values.runs ?? '10000'),
    seed: wholeNumber('seed', values.seed ?? String(randomInt(1_000_000_000))),
    concurrency: Math.max(1, wholeNumber('concurrency', values.concurrency ?? '8')),
    summaryFile: values.summary,
  };
}
