import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { oneOf, text, wholeNumber } from '../harness/run/option-values.ts';
import { runMain, type Outcome } from '../harness/run/run-main.ts';
import { HostsRun } from './hosts/hosts-run.ts';
import { runPages } from './pages/pages-run.ts';
import { runPlugins } from './plugins-run.ts';

const usage = `Usage: make churn ARGS='...'
  --rounds=1000   starts and stops of the sample plugin, and of one whose pages are open in a browser
  --changes=30    hosts that are stopped, killed or frozen while they run 100 controllers
  --seed=N        which (default: another each time)
  --only=PARTS    of plugins, pages and hosts, separated by commas
  --data=FOLDER   where the database lies (default: the temporary folder)
`;

const parts = ['plugins', 'pages', 'hosts'] as const;

interface ChurnOptions {
  only: readonly (typeof parts)[number][];
  rounds: number;
  changes: number;
  seed: number;
  parent: string;
  summaryFile: string | undefined;
}

await runMain({
  usage,
  parse: (args) => {
    const { values } = parseArgs({
      args,
      options: { rounds: text, changes: text, seed: text, only: text, data: text, summary: text },
    });
    return {
      only: values.only?.split(',').map((part) => oneOf('part', part, parts)) ?? parts,
      rounds: wholeNumber('rounds', values.rounds ?? '1000', 1),
      changes: wholeNumber('changes', values.changes ?? '30', 1),
      seed: wholeNumber('seed', values.seed ?? String(Date.now() % 2 ** 31), 0),
      parent: values.data ?? tmpdir(),
      summaryFile: values.summary,
    };
  },
  run: async ({ only, rounds, changes, seed, parent }: ChurnOptions) => {
    const outcomes: Outcome[] = [];
    if (only.includes('plugins')) outcomes.push(await runPlugins({ rounds, parent }));
    if (only.includes('pages')) outcomes.push(await runPages({ rounds, parent }));
    if (only.includes('hosts')) {
      process.stdout.write(`hosts, seed ${seed}\n`);
      outcomes.push(await HostsRun.run({ rounds: changes, seed, parent }));
    }
    return {
      passed: outcomes.reduce((sum, { passed }) => sum + passed, 0),
      failures: outcomes.flatMap(({ failures }) => failures),
    };
  },
});
