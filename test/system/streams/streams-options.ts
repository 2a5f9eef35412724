import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { text, wholeNumber } from '../harness/run/option-values.ts';

export interface StreamsOptions {
  seeds: number;
  /** The first; the others are the next numbers. */
  seed: number;
  concurrency: number;
  writes: number;
  summaryFile: string | undefined;
}

export const usage = `Usage: make streams ARGS='...'
  --seeds=10000        how many
  --seed=N             the first, default a new one, printed first
  --concurrency=50     seeds that share writes, each behind a network of its own
  --writes=40          for each of these groups
  --summary=FILE       writes {"passed", "failed"}
`;

/** Throws an Error that describes the problem. */
export function parseStreamsOptions(args: string[]): StreamsOptions {
  const { values } = parseArgs({
    args,
    options: { seeds: text, seed: text, concurrency: text, writes: text, summary: text },
  });
  return {
    seeds: wholeNumber('seeds', values.seeds ?? '10000'),
    seed: wholeNumber('seed', values.seed ?? String(randomInt(1_000_000_000))),
    concurrency: Math.max(1, wholeNumber('concurrency', values.concurrency ?? '50')),
    writes: wholeNumber('writes', values.writes ?? '40'),
    summaryFile: values.summary,
  };
}
