import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface SeedsOptions {
  runs: number;
  /** Of the first run; those that follow have the next ones. */
  seed: number;
  concurrency: number;
  summaryFile?: string;
}

export const usage = `Usage: make seeds ARGS='...'
  --runs=10000         how many
  --seed=N             of the first run, the next ones have the next; default a new one, printed first
  --concurrency=8      runs side by side, each on a server of its own
  --summary=FILE       writes {"passed", "failed"}
`;

/** Throws an Error that says what is wrong. */
export function parseSeedsOptions(args: string[]): SeedsOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ args, options: { runs: text, seed: text, concurrency: text, summary: text } });
  return {
    runs: count('runs', values.runs ?? '10000'),
    seed: count('seed', values.seed ?? String(randomInt(1_000_000_000))),
    concurrency: Math.max(1, count('concurrency', values.concurrency ?? '8')),
    ...(values.summary === undefined ? {} : { summaryFile: values.summary }),
  };
}

function count(name: string, text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
}
