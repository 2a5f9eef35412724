import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { text, wholeNumber } from '../harness/run/option-values.ts';

export interface MatrixOptions {
  seed: string;
  cells: number;
  /** Runs only this cell. */
  only?: number;
  concurrency: number;
  summaryFile: string | undefined;
}

export const usage = `Usage: make matrix ARGS='...'
  --cells=100000       how many requests
  --seed=TEXT          decides roles, bindings and every request; default a new one, printed first
  --cell=N             only the cell of this number, of the same seed
  --concurrency=32     requests side by side
  --summary=FILE       writes {"passed", "failed", "failures"}
`;

/** Throws an Error that describes the problem. */
export function parseMatrixOptions(args: string[]): MatrixOptions {
  const { values } = parseArgs({
    args,
    options: { seed: text, cells: text, cell: text, concurrency: text, summary: text },
  });
  return {
    seed: values.seed ?? randomBytes(6).toString('hex'),
    cells: wholeNumber('cells', values.cells ?? '100000'),
    concurrency: Math.max(1, wholeNumber('concurrency', values.concurrency ?? '32')),
    ...(values.cell === undefined ? {} : { only: wholeNumber('cell', values.cell) }),
    summaryFile: values.summary,
  };
}
