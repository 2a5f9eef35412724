import { parseArgs } from 'node:util';
import { flag, text, wholeNumber } from '../harness/run/option-values.ts';
import { defaultDataParent } from '../harness/process/postgres-process.ts';

export interface AttackOptions {
  /** Total time of all attacks, without the start. */
  seconds: number;
  seed: number;
  /** Only attacks whose name contains it. */
  only: string;
  /** Each attack on one route only; times are printed but not judged. */
  isSample: boolean;
  dataParent: string;
  summaryFile: string | undefined;
}

export const usage = `Usage: make attack ARGS='...'
  --seconds=240     how long, for all attacks together
  --sample          each attack one way only, directly or behind haproxy; times are shown and not judged: for a machine that is not ours alone
  --seed=1          decides what attackers send
  --only=TEXT       attacks whose name contains it
  --data=FOLDER     where the database lies (default: the temporary folder)
  --summary=FILE    write how many checks passed and failed, for CI
`;

/** Throws an Error that describes the problem. */
export function parseAttackOptions(args: string[]): AttackOptions {
  const { values } = parseArgs({
    args,
    options: { seconds: text, seed: text, only: text, sample: flag, data: text, summary: text },
  });
  return {
    seconds: wholeNumber('seconds', values.seconds ?? '240'),
    seed: wholeNumber('seed', values.seed ?? '1'),
    only: values.only ?? '',
    isSample: values.sample === true,
    dataParent: values.data ?? defaultDataParent,
    summaryFile: values.summary,
  };
}
