import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';

export interface TenantsOptions {
  seconds: number;
  quietSeconds: number;
  /** Of the control group, and what the chart gives an API server. Bytes. */
  memoryBytes: number;
  /** Is a slow answer a failure? A machine that does other things at the same time says nothing about time. */
  assertsTime: boolean;
  /** Kinds of the attack's requests; absent: all. */
  only?: readonly string[];
  dataParent: string;
  summaryFile?: string;
}

export const usage = `Usage: make tenants ARGS='...'
  --seconds=300        how long one tenant attacks
  --quiet=15           how long the other works alone before, in seconds
  --memory=1024        limit of the API server's control group, in MiB: the chart's own
  --untimed            shows times and asserts none
  --only='get;patch'   only these kinds of the attack's requests, as its last lines name them
  --data=FOLDER        where the database lies (default: the temporary folder)
  --summary=FILE       writes {"passed", "failed", "failures"}
`;

/** Throws an Error that says what is wrong. */
export function parseTenantsOptions(args: string[]): TenantsOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args,
    options: {
      seconds: text,
      quiet: text,
      memory: text,
      untimed: { type: 'boolean' },
      only: text,
      data: text,
      summary: text,
    },
  });
  return {
    seconds: count('seconds', values.seconds ?? '300'),
    quietSeconds: count('quiet', values.quiet ?? '15'),
    memoryBytes: count('memory', values.memory ?? '1024') * 1024 ** 2,
    assertsTime: values.untimed !== true,
    // A temporary folder of root's own would be closed to PostgreSQL's user.
    dataParent: values.data ?? (process.getuid?.() === 0 ? '/tmp' : tmpdir()),
    ...(values.only === undefined ? {} : { only: values.only.split(';') }),
    ...(values.summary === undefined ? {} : { summaryFile: values.summary }),
  };
}

function count(name: string, text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new Error(`--${name} must be a whole number above 0`);
  return Number(text);
}
