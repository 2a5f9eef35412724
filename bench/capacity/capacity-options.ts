import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { flag, oneOf, positiveNumber, text } from '../../test/system/harness/run/option-values.ts';

export const partNames = ['disk', 'bloat', 'operations', 'memory', 'replicas', 'many', 'pooler'] as const;
export type PartName = (typeof partNames)[number];

export interface CapacityOptions {
  only: PartName[];
  /** Objects of the model in part `many`. */
  objects: number;
  /** Objects of each model whose size is measured. */
  samples: number;
  /** Length of one window of load. */
  seconds: number;
  dataParent: string;
  isQuick: boolean;
}

export const usage = `Usage: make capacity ARGS='...'
  --only=${partNames.join(',')}   parts; default all
  --objects=1000000    objects in the largest model
  --samples=2000       objects of each model whose bytes are counted
  --seconds=3          of one window of load
  --data=FOLDER        where the database lies (default: the temporary folder); choose the disk that matters
  --quick              everything once and small, in about a minute: does it work?
`;

const quick = { objects: '5000', samples: '200', seconds: '0.5' };
const full = { objects: '1000000', samples: '2000', seconds: '3' };

/** Throws an Error that describes the problem. */
export function parseCapacityOptions(args: string[]): CapacityOptions {
  const { values } = parseArgs({
    args,
    options: { only: text, objects: text, samples: text, seconds: text, data: text, quick: flag },
  });
  const isQuick = values.quick === true;
  const defaults = isQuick ? quick : full;
  return {
    only:
      values.only === undefined ? [...partNames] : values.only.split(',').map((name) => oneOf('part', name, partNames)),
    objects: whole('objects', values.objects ?? defaults.objects),
    samples: whole('samples', values.samples ?? defaults.samples),
    seconds: positiveNumber('seconds', values.seconds ?? defaults.seconds),
    dataParent: values.data ?? tmpdir(),
    isQuick,
  };
}

function whole(name: string, value: string): number {
  return Math.max(1, Math.round(positiveNumber(name, value)));
}
