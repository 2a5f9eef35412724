import { parseArgs } from 'node:util';
import { flag, positiveNumber, text, wholeNumber } from '../harness/run/option-values.ts';
import { faults } from './kinds/fault-table.ts';
import { standbyFaults } from './kinds/standby-faults.ts';
import type { Fault } from './fault.ts';

export interface FaultsOptions {
  seed: number;
  /** Length of one round; every kind runs at least once, however long that takes. */
  seconds: number;
  /** Repeats whole rounds for this time, each with a fresh database; 0 for one round. */
  hours: number;
  kinds: readonly Fault[];
  /** Runs two kinds at a time. */
  pairs: boolean;
  /** Of each server. */
  workers: number;
  /** The second server reads from a standby. */
  hasStandby: boolean;
  isList: boolean;
  /** Keeps logs, history and data. */
  isKept: boolean;
  summaryFile: string | undefined;
}

export const usage = `Usage: make faults ARGS='...'
  --seed=N          decides the work and the order of faults; default: by chance, and printed first
  --seconds=180     how long a round lasts; every kind is tried once, however long that takes
  --hours=1         round after round with the next seeds, from the second on two faults at a time
  --faults=a,b      only these kinds
  --pairs           two kinds at a time
  --workers=2       each server has so many workers; default: one process each
  --standby-reads   the second server reads from a streaming standby, which has faults of its own
  --list            print the kinds, and end
  --keep            keep the folder with logs, history and data
  --summary=FILE    write how many checks passed and failed, for CI
`;

/** Throws an Error that describes the problem. */
export function parseFaultsOptions(args: string[]): FaultsOptions {
  const { values } = parseArgs({
    args,
    options: {
      seed: text,
      seconds: text,
      hours: text,
      faults: text,
      pairs: flag,
      workers: text,
      'standby-reads': flag,
      list: flag,
      keep: flag,
      summary: text,
    },
  });
  return {
    seed: values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : wholeNumber('seed', values.seed),
    seconds: positiveNumber('seconds', values.seconds ?? '180'),
    hours: values.hours === undefined ? 0 : positiveNumber('hours', values.hours),
    kinds:
      values.faults === undefined
        ? faults.filter((fault) => values['standby-reads'] === true || !standbyFaults.includes(fault))
        : values.faults.split(',').map(kindOf),
    pairs: values.pairs ?? false,
    workers: wholeNumber('workers', values.workers ?? '1'),
    hasStandby: values['standby-reads'] ?? false,
    isList: values.list ?? false,
    isKept: values.keep ?? false,
    summaryFile: values.summary,
  };
}

function kindOf(name: string): Fault {
  const found = faults.find((fault) => fault.name === name);
  if (found === undefined) throw new Error(`there is no fault ${name}; --list names them`);
  return found;
}
