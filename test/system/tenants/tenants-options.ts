import { parseArgs } from 'node:util';
import { floodNames, type FloodName } from './floods.ts';
import { flag, oneOf, text, wholeNumber } from '../harness/run/option-values.ts';
import { defaultDataParent } from '../harness/process/postgres-process.ts';

export const partNames = ['attack', 'floods', 'limits'] as const;
export type PartName = (typeof partNames)[number];

export interface TenantsOptions {
  parts: readonly PartName[];
  seconds: number;
  /** The length of each flood. */
  floodSeconds: number;
  /** Absent: all. */
  floods?: readonly FloodName[];
  quietSeconds: number;
  /** Memory limit of the control group, by default the chart's for an API server. Bytes. */
  memoryBytes: number;
  /** Whether a slow response is a failure: on a busy machine times mean nothing. */
  assertsTime: boolean;
  /** Kinds of attack requests; absent: all. */
  only?: readonly string[];
  dataParent: string;
  summaryFile: string | undefined;
}

export const usage = `Usage: make tenants ARGS='...'
  --parts=attack,floods,limits   what is done; limits are the quota and the throttle
  --seconds=300        how long one tenant attacks
  --flood=20           how long each flood lasts, in seconds
  --floods='small reads;leases'   only these floods, as the table at the end names them
  --quiet=15           how long the other works alone before each, in seconds
  --memory=1024        limit of the API server's control group, in MiB: the chart's own
  --untimed            shows times and asserts none
  --only='get;patch'   only these kinds of the attack's requests, as its last lines name them
  --data=FOLDER        where the database lies (default: the temporary folder)
  --summary=FILE       writes {"passed", "failed", "failures"}
`;

/** Throws an Error that describes the problem. */
export function parseTenantsOptions(args: string[]): TenantsOptions {
  const { values } = parseArgs({
    args,
    options: {
      parts: text,
      seconds: text,
      flood: text,
      floods: text,
      quiet: text,
      memory: text,
      untimed: flag,
      only: text,
      data: text,
      summary: text,
    },
  });
  return {
    parts: values.parts?.split(',').map((part) => oneOf('part', part, partNames)) ?? partNames,
    floodSeconds: wholeNumber('flood', values.flood ?? '20', 1),
    ...(values.floods === undefined
      ? {}
      : { floods: values.floods.split(';').map((name) => oneOf('flood', name, floodNames)) }),
    seconds: wholeNumber('seconds', values.seconds ?? '300', 1),
    quietSeconds: wholeNumber('quiet', values.quiet ?? '15', 1),
    memoryBytes: wholeNumber('memory', values.memory ?? '1024', 1) * 1024 ** 2,
    assertsTime: values.untimed !== true,
    dataParent: values.data ?? defaultDataParent,
    ...(values.only === undefined ? {} : { only: values.only.split(';') }),
    summaryFile: values.summary,
  };
}
