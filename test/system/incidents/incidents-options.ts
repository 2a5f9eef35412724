import { parseArgs } from 'node:util';
import { defaultDataParent } from '../harness/process/postgres-process.ts';
import { flag, text } from '../harness/run/option-values.ts';
import { nameOf, type Incident } from './incident.ts';
import { incidents, sampleOfIncidents } from './incident-table.ts';

export interface IncidentsOptions {
  readonly incidents: readonly Incident[];
  readonly isList: boolean;
  /** Keeps the logs, of failed incidents in any case. */
  readonly isKept: boolean;
  readonly dataParent: string;
  readonly summaryFile: string | undefined;
}

export const usage = `Usage: make incidents ARGS='...'
  --only=SvcDown,SvcDatabaseLost:restarts   these alerts alone, or these causes of them
  --sample         a few short ones, for CI
  --list           print the incidents, and end
  --keep           keep the logs
  --data=FOLDER    where the databases lie (default: the temporary folder)
  --summary=FILE   write how many incidents passed and failed, for CI
`;

/** Throws an Error that describes the problem. */
export function parseIncidentsOptions(args: string[]): IncidentsOptions {
  const { values } = parseArgs({
    args,
    options: { only: text, sample: flag, list: flag, keep: flag, data: text, summary: text },
  });
  const names = values.only?.split(',') ?? (values.sample === true ? sampleOfIncidents : undefined);
  return {
    incidents: names === undefined ? incidents : [...new Set(names.flatMap(incidentsOf))],
    isList: values.list ?? false,
    isKept: values.keep ?? false,
    dataParent: values.data ?? defaultDataParent,
    summaryFile: values.summary,
  };
}

function incidentsOf(name: string): Incident[] {
  const found = incidents.filter((incident) => name === incident.alert || name === nameOf(incident));
  if (found.length === 0) throw new Error(`there is no incident ${name}; --list names them`);
  return found;
}
