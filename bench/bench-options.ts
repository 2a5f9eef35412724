import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { flag, oneOf, positiveNumber, text } from '../test/system/harness/run/option-values.ts';

export const scenarioNames = [
  'get',
  'create',
  'update',
  'list',
  'watch',
  'models',
  'memory',
  'overload',
  'controllers',
  'credentials',
  'tls',
  'console',
] as const;
export type ScenarioName = (typeof scenarioNames)[number];

export interface BenchOptions {
  only: ScenarioName[];
  /** Length of a measurement window, and of the warm-up before it. */
  seconds: number;
  warmUpSeconds: number;
  /** Windows of each contender; the report shows the median of their ratios. */
  rounds: number;
  /** Numbers of connections. */
  connections: number[];
  /** Objects in each model that lists read, ascending. */
  sizes: number[];
  /** How many models are defined to measure the cost of many. */
  models: number;
  dataParent: string;
  /** Only shows that the bench works; the figures mean little. */
  isQuick: boolean;
  jsonFile?: string;
  profileFolder?: string;
}

export const usage = `Usage: make bench ARGS='...'
  --only=get,create,update,list,watch,models,memory,overload,controllers,credentials,tls,console
                       scenarios; default all, with --quick all but the console
  --seconds=2          of one window
  --rounds=3           windows of each contender, in turns
  --connections=64,1   closed loops side by side
  --large=100000       objects in the largest model; lists are asked of every power of ten from 1000 to it
  --models=1000        definitions beside each other
  --data=FOLDER        where the database lies (default: the temporary folder); choose the disk that matters
  --json=FILE          all figures as numbers
  --profile=FOLDER     keep a processor profile of the server, and print where its time went
  --quick              everything once and small, in about a minute: does the bench work?
`;

const quick = { seconds: '0.3', rounds: '1', large: '3000', models: '20' };
const full = { seconds: '2', rounds: '3', large: '100000', models: '1000' };
const smallest = 1000;

/** Throws an Error that describes the problem. */
export function parseBenchOptions(args: string[]): BenchOptions {
  const options = {
    only: text,
    seconds: text,
    rounds: text,
    connections: text,
    large: text,
    models: text,
    data: text,
    json: text,
    profile: text,
    quick: flag,
  } as const;
  const { values } = parseArgs({ args, options });
  const isQuick = values.quick === true;
  const defaults = isQuick ? quick : full;
  return {
    only:
      values.only === undefined
        ? scenarioNames.filter((name) => !isQuick || name !== 'console')
        : values.only.split(',').map((name) => oneOf('scenario', name, scenarioNames)),
    seconds: positiveNumber('seconds', values.seconds ?? defaults.seconds),
    warmUpSeconds: isQuick ? 0.1 : 0.5,
    rounds: positiveNumber('rounds', values.rounds ?? defaults.rounds),
    connections: (values.connections ?? '64,1').split(',').map((part) => positiveNumber('connections', part)),
    sizes: sizesTo(positiveNumber('large', values.large ?? defaults.large)),
    models: positiveNumber('models', values.models ?? defaults.models),
    dataParent: values.data ?? tmpdir(),
    isQuick,
    ...(values.json === undefined ? {} : { jsonFile: values.json }),
    ...(values.profile === undefined ? {} : { profileFolder: values.profile }),
  };
}

function sizesTo(large: number): number[] {
  const sizes: number[] = [];
  for (let size = smallest; size < large; size *= 10) sizes.push(size);
  return [...sizes, Math.max(large, smallest)];
}
