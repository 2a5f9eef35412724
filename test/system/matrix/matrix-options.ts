import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface MatrixOptions {
  seed: string;
  cells: number;
  /** Only this cell. */
  only?: number;
  concurrency: number;
  summaryFile?: string;
}

export const usage = `Usage: make matrix ARGS='...'
  --cells=100000       how many requests
  --seed=TEXT          decides roles, bindings and every request; default a new one, printed first
  --cell=N             only the cell of this number, of the same seed
  --concurrency=32     requests side by side
  --summary=FILE       writes {"passed", "failed", "failures"}
`;

/** Throws an Error that says what is wrong. */
export function parseMatrixOptions(args: string[]): MatrixOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args,
    options: { seed: text, cells: text, cell: text, concurrency: text, summary: text },
  });
  return {
    seed: values.seed ?? randomBytes(6).toString('hex'),
    cells: count('cells', values.cells ?? '100000'),
    concurrency: Math.max(1, count('concurrency', values.concurrency ?? '32')),
    ...(values.cell === undefined ? {} : { only: count('cell', values.cell) }),
    ...(values.summary === undefined ? {} : { summaryFile: values.summary }),
  };
}

function count(name: string, text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
}
