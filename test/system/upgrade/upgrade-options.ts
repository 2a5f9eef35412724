import { parseArgs } from 'node:util';
import { flag, text } from '../harness/run/option-values.ts';

export interface UpgradeRunOptions {
  /** Only the most important versions and less load: for CI. */
  readonly quick: boolean;
  /** Revisions that replace the landings. */
  readonly from: readonly string[] | undefined;
  readonly only: 'in-place' | 'beside' | undefined;
  /** Build of the new version; default: this tree. */
  readonly build: string | undefined;
  readonly summaryFile: string | undefined;
}

export const usage = `Usage: make upgrade ARGS='...'
  --quick              the oldest version instead of all, and less load
  --from=REV,...       these commits instead
  --only=in-place      only upgrades of stopped servers; or beside: only two versions on one database
  --build=FOLDER       upgrade to what is built there (default: this repository)
  --summary=FILE       writes {"passed", "failed", "failures"}
`;

/** Throws an Error that describes the problem. */
export function parseUpgradeOptions(args: string[]): UpgradeRunOptions {
  const { values } = parseArgs({
    args,
    options: { quick: flag, from: text, only: text, build: text, summary: text },
  });
  const { only } = values;
  if (only !== undefined && only !== 'in-place' && only !== 'beside')
    throw new Error('--only must be in-place or beside');
  return {
    quick: values.quick === true,
    from: values.from?.split(','),
    only,
    build: values.build,
    summaryFile: values.summary,
  };
}
