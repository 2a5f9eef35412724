import { parseArgs } from 'node:util';
import { defaultDataParent } from '../harness/process/postgres-process.ts';
import { flag, oneOf, text, wholeNumber } from '../harness/run/option-values.ts';

export const caseNames = ['helm', 'kubectl', 'python', 'client-node', 'operators'] as const;
export type CaseName = (typeof caseNames)[number];

export interface ClientsOptions {
  readonly only: readonly CaseName[];
  /** A folder with a chroot of Debian sid that has Go and client-go, and with `bin/kubectl`; undefined: without them. */
  readonly peer: string | undefined;
  /** How many times an operator is killed. */
  readonly kills: number;
  readonly seed: string;
  readonly isKept: boolean;
  readonly dataParent: string;
  readonly summaryFile: string | undefined;
}

export const usage = `Usage: make clients ARGS='...'
  --only=helm,python   these cases alone: ${caseNames.join(', ')}
  --peer=FOLDER        has chroot (Debian sid with Go and client-go) and bin/kubectl: adds an operator in Go, and this kubectl
  --kills=12           how many times operators are killed under load
  --seed=TEXT          which (default: another each time)
  --keep               keep the logs
  --data=FOLDER        where the databases lie (default: the temporary folder)
  --summary=FILE       write how many checks passed and failed, for CI
`;

/** Throws an Error that describes the problem. */
export function parseClientsOptions(args: string[]): ClientsOptions {
  const { values } = parseArgs({
    args,
    options: { only: text, peer: text, kills: text, seed: text, keep: flag, data: text, summary: text },
  });
  return {
    only: values.only === undefined ? caseNames : values.only.split(',').map((name) => oneOf('case', name, caseNames)),
    peer: values.peer,
    kills: wholeNumber('kills', values.kills ?? '12', 1),
    seed: values.seed ?? String(Date.now() % 2 ** 31),
    isKept: values.keep ?? false,
    dataParent: values.data ?? defaultDataParent,
    summaryFile: values.summary,
  };
}
