import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { areas } from './areas/index.ts';
import type { Area } from './fuzz-case.ts';

export interface FuzzOptions {
  seed: string;
  /** Only this case. */
  number?: number;
  seconds: number;
  /** Instead of a time. */
  requests?: number;
  concurrency: number;
  areas: readonly Area[];
  dataParent: string;
  summaryFile?: string;
}

export const usage = `Usage: make fuzz ARGS='...'
  --seed=TEXT          decides every request; default a new one, printed first
  --case=N             only the case of this number, shown with its answers
  --seconds=120        how long
  --requests=N         how many, instead
  --concurrency=32     requests side by side
  --areas=a,b          ${areas.map(({ name }) => name).join(', ')}
  --data=FOLDER        where the database lies (default: the temporary folder)
  --summary=FILE       writes {"passed", "failed"}: areas without and with violations
`;

/** Throws an Error that says what is wrong. */
export function parseFuzzOptions(args: string[]): FuzzOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ args, options: { seed: text, case: text, seconds: text, requests: text, concurrency: text, areas: text, data: text, summary: text } });
  return {
    seed: values.seed ?? randomBytes(6).toString('hex'),
    seconds: count('seconds', values.seconds ?? '120'),
    concurrency: count('concurrency', values.concurrency ?? '32'),
    areas: values.areas === undefined ? areas : values.areas.split(',').map(areaOf),
    // A temporary folder of root's own would be closed to PostgreSQL's user.
    dataParent: values.data ?? (process.getuid?.() === 0 ? '/tmp' : tmpdir()),
    ...(values.case === undefined ? {} : { number: count('case', values.case) }),
    ...(values.requests === undefined ? {} : { requests: count('requests', values.requests) }),
    ...(values.summary === undefined ? {} : { summaryFile: values.summary }),
  };
}

function areaOf(name: string): Area {
  const area = areas.find((each) => each.name === name.trim());
  if (area === undefined) throw new Error(`there is no area ${name}`);
  return area;
}

function count(name: string, text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
}
