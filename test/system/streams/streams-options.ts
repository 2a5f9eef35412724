import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { text, wholeNumber } from '../harness/run/option-values.ts';

export interface StreamsOptions {
  seeds: number;
  /** The first; the others are the next numbers. */
  seed: number;
  /** In Chromium, at its own speed. */
  isBrowser: boolean;
  /** Of a group. */
  concurrency: number;
  groups: number;
  writes: number;
  summaryFile: string | undefined;
}

export const usage = `Usage: make streams ARGS='...'
  --seeds=10000        how many, with pages and workers in this process
  --browser=N          so many in Chromium instead
  --seed=N             the first, default a new one, printed first
  --concurrency=N      seeds of a group, which share writes, each behind a network of its own; default 50, in Chromium 10
  --groups=N           groups at once; default 3, in Chromium 1
  --writes=N           for each group; default 40, in Chromium 180
  --summary=FILE       writes {"passed", "failed"}
`;

/** Throws an Error that describes the problem. */
export function parseStreamsOptions(args: string[]): StreamsOptions {
  const { values } = parseArgs({
    args,
    options: {
      seeds: text,
      browser: text,
      seed: text,
      concurrency: text,
      groups: text,
      writes: text,
      summary: text,
    },
  });
  const isBrowser = values.browser !== undefined;
  const [concurrency, groups, writes] = isBrowser ? ['10', '1', '180'] : ['50', '3', '40'];
  return {
    seeds: wholeNumber(isBrowser ? 'browser' : 'seeds', values.browser ?? values.seeds ?? '10000'),
    seed: wholeNumber('seed', values.seed ?? String(randomInt(1_000_000_000))),
    isBrowser,
    concurrency: wholeNumber('concurrency', values.concurrency ?? concurrency, 1),
    groups: wholeNumber('groups', values.groups ?? groups, 1),
    writes: wholeNumber('writes', values.writes ?? writes),
    summaryFile: values.summary,
  };
}
