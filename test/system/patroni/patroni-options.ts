import { parseArgs } from 'node:util';
import { flag, oneOf, text, wholeNumber } from '../harness/run/option-values.ts';

export const caseNames = ['synchronous', 'asynchronous', 'faults', 'regions'] as const;
export type CaseName = (typeof caseNames)[number];

const wholeCount = 20;
const quickCount = 2;

export interface PatroniOptions {
  only: readonly CaseName[];
  seed: number;
  /** How many switchovers, and how many kills of the primary. */
  count: number;
  /** Keeps logs and data. */
  isKept: boolean;
  summaryFile: string | undefined;
}

export const usage = `Usage: make patroni ARGS='...'
  --only=a,b        of ${caseNames.join(', ')}
  --quick           ${quickCount} switchovers and ${quickCount} kills
  --count=N         switchovers, and kills; default ${wholeCount}
  --seed=N          decides the order and the work; default: by chance, and printed first
  --keep            keep the folder with logs and data
  --summary=FILE    write how many checks passed and failed, for CI
`;

/** Throws an Error that describes the problem. */
export function parsePatroniOptions(args: string[]): PatroniOptions {
  const { values } = parseArgs({
    args,
    options: { only: text, quick: flag, count: text, seed: text, keep: flag, summary: text },
  });
  return {
    only: values.only === undefined ? caseNames : values.only.split(',').map((name) => oneOf('case', name, caseNames)),
    seed: values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : wholeNumber('seed', values.seed),
    count:
      values.count === undefined
        ? values.quick === true
          ? quickCount
          : wholeCount
        : wholeNumber('count', values.count, 1),
    isKept: values.keep ?? false,
    summaryFile: values.summary,
  };
}
