import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';

export const scenarioNames = ['get', 'create', 'update', 'list', 'watch', 'memory'] as const;
export type ScenarioName = (typeof scenarioNames)[number];

export interface BenchOptions {
  only: ScenarioName[];
  /** Of one window of measurement. */
  seconds: number;
  /** Windows of each contender; the median of their ratios is shown. */
  rounds: number;
  /** Numbers of connections. */
  connections: number[];
  /** Objects in the large model. */
  large: number;
  dataParent: string;
  profileFolder?: string;
}

export const usage = `Usage: make bench ARGS='...'
  --only=get,create,update,list,watch,memory   scenarios; default all
  --seconds=3          of one window
  --rounds=5           windows of each contender, in turns
  --connections=64,1   closed loops side by side
  --large=100000       objects in the large model
  --data=FOLDER        where the database lies (default: the temporary folder); choose the disk that matters
  --profile=FOLDER     keep a processor profile of the server, and print where its time went
`;

/** Throws an Error that says what is wrong. */
export function parseBenchOptions(args: string[]): BenchOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ args, options: { only: text, seconds: text, rounds: text, connections: text, large: text, data: text, profile: text } });
  return {
    only: values.only === undefined ? [...scenarioNames] : values.only.split(',').map(scenario),
    seconds: positive('seconds', values.seconds ?? '3'),
    rounds: positive('rounds', values.rounds ?? '5'),
    connections: (values.connections ?? '64,1').split(',').map((part) => positive('connections', part)),
    large: positive('large', values.large ?? '100000'),
    dataParent: values.data ?? tmpdir(),
    ...(values.profile === undefined ? {} : { profileFolder: values.profile }),
  };
}

function scenario(name: string): ScenarioName {
  const found = scenarioNames.find((known) => known === name);
  if (found === undefined) throw new Error(`there is no scenario ${name}; there are ${scenarioNames.join(', ')}`);
  return found;
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} must be a positive number, not ${text}`);
  return value;
}
