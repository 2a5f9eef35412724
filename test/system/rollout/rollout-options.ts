import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { flag, oneOf, text, wholeNumber } from '../harness/run/option-values.ts';

export const scenarioNames = [
  'upgrade',
  'kill',
  'crash',
  'failover-synchronous',
  'failover-asynchronous',
  'measure',
] as const;
export type ScenarioName = (typeof scenarioNames)[number];

export interface RolloutOptions {
  only: readonly ScenarioName[];
  isQuick: boolean;
  seed: number;
  /** Revision of the first release. */
  from: string;
  /** Folder of the build to upgrade to. */
  build: string;
  /** Keeps logs and data. */
  isKept: boolean;
  summaryFile: string | undefined;
}

const root = fileURLToPath(new URL('../../..', import.meta.url));

export const usage = `Usage: make rollout ARGS='...'
  --only=a,b        of ${scenarioNames.join(', ')}
  --quick           all but measure, each shorter
  --from=HEAD~1     the commit that is upgraded from
  --build=FOLDER    the build that is upgraded to; default: this checkout's dist
  --seed=N          decides the work; default: by chance, and printed first
  --keep            keep the folder with logs and data
  --summary=FILE    write how many checks passed and failed, for CI
`;

/** Throws an Error that describes the problem. */
export function parseRolloutOptions(args: string[]): RolloutOptions {
  const { values } = parseArgs({
    args,
    options: { only: text, quick: flag, from: text, build: text, seed: text, keep: flag, summary: text },
  });
  const isQuick = values.quick ?? false;
  return {
    only:
      values.only === undefined
        ? isQuick
          ? scenarioNames.filter((name) => name !== 'measure')
          : scenarioNames
        : values.only.split(',').map((name) => oneOf('scenario', name, scenarioNames)),
    isQuick,
    seed: values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : wholeNumber('seed', values.seed),
    from: values.from ?? 'HEAD~1',
    build: values.build ?? root,
    isKept: values.keep ?? false,
    summaryFile: values.summary,
  };
}
