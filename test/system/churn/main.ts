import { chmod, cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { oneOf, text, wholeNumber } from '../harness/run/option-values.ts';
import { runMain, type Outcome } from '../harness/run/run-main.ts';
import { ChurnedServer, type ProcessObjects } from './churned-server.ts';
import { HostsRun } from './hosts/hosts-run.ts';

const usage = `Usage: make churn ARGS='...'
  --rounds=1000   starts and stops of the sample plugin
  --changes=30    hosts that are stopped, killed or frozen while they run 100 controllers
  --seed=N        which (default: another each time)
  --only=PART     plugins or hosts
  --data=FOLDER   where the database lies (default: the temporary folder)
`;

interface ChurnOptions {
  only: 'plugins' | 'hosts' | undefined;
  rounds: number;
  changes: number;
  seed: number;
  parent: string;
  summaryFile: string | undefined;
}

const sample = fileURLToPath(new URL('../../../config/samples/plugins/blog', import.meta.url));
const plugin = 'blog';
/** The plugin's public endpoint, which must appear and disappear with it. */
const endpoint = '/apis/api.blog.example.com/v1/posts';
/** The plugin's page, whose file must appear and disappear, too. */
const page = '/apis/console.svc.run/v1alpha1/consolepages/blog-comments';
/** Compiled code and caches grow first: the informer bus alone keeps the newest changes, 8 MiB of text. */
const warmUpShare = 0.5;
const samples = 10;
/** Allowed heap growth per round after the warm-up: the noise of a collected heap. Bytes. */
const allowedBytesEach = 512;
const allowedOnce = 8_000_000;
/** Allowed growth of any count: one idle connection more is not a leak. */
const allowedCount = 4;

const counted = ['timers', 'ports', 'workers', 'resources', 'descriptors', 'threads', 'listeners'] as const;

/**
 * Starts and stops the sample plugin repeatedly, and measures the server's process after each stop. False if something
 * grows.
 */
async function churn(rounds: number, parent: string): Promise<boolean> {
  const folder = await mkdtemp(join(parent, 'svc-churn-'));
  // PostgreSQL may run as another user.
  await chmod(folder, 0o755);
  await mkdir(join(folder, 'plugins'));
  await cp(sample, join(folder, 'plugins', plugin), { recursive: true });
  const server = await ChurnedServer.start(folder);
  try {
    return await measure(server, rounds);
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(server: ChurnedServer, rounds: number): Promise<boolean> {
  const warmUp = Math.max(1, Math.round(rounds * warmUpShare));
  const every = Math.max(1, Math.round((rounds - warmUp) / samples));
  printRow(['rounds', 'heap MB', 'resident MB', ...counted, 'ms each']);
  let first: ProcessObjects | undefined;
  let last: ProcessObjects | undefined;
  let began = performance.now();
  let since = 0;
  for (let round = 1; round <= rounds; round += 1) {
    await startAndStop(server);
    since += 1;
    if (round < warmUp || ((round - warmUp) % every !== 0 && round !== rounds)) continue;
    last = await server.life();
    first ??= last;
    printRow([
      round,
      megabytes(last.heapBytes),
      megabytes(last.residentBytes),
      ...counted.map((name) => last![name]),
      ((performance.now() - began) / since).toFixed(0),
    ]);
    began = performance.now();
    since = 0;
  }
  return first !== undefined && last !== undefined && isFlat(first, last, rounds - warmUp);
}

async function startAndStop(server: ChurnedServer): Promise<void> {
  await server.turn(plugin, true);
  await server.until(endpoint, (status) => status === 200);
  let file = '';
  await server.until(page, (status, { spec }) => {
    const { frame } = (spec ?? {}) as { frame?: { file: string; hash: string } };
    if (frame !== undefined) file = `/plugin-pages/${plugin}/${frame.hash}/${frame.file}`;
    return status === 200;
  });
  await server.until(file, (status) => status === 200);
  await server.turn(plugin, false);
  for (const path of [endpoint, page, file]) await server.until(path, (status) => status === 404);
}

function isFlat(first: ProcessObjects, last: ProcessObjects, rounds: number): boolean {
  const grown: string[] = counted.filter((name) => last[name] > first[name] + allowedCount);
  if (last.heapBytes > first.heapBytes + allowedOnce + rounds * allowedBytesEach) grown.push('heap');
  process.stdout.write(
    grown.length === 0
      ? `no growth over ${rounds} starts and stops: heap ${megabytes(last.heapBytes - first.heapBytes)} MB\n`
      : `GREW: ${grown.join(', ')}\n`,
  );
  return grown.length === 0;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

function printRow(cells: readonly (string | number)[]): void {
  process.stdout.write(`${cells.map((cell) => String(cell).padStart(11)).join(' ')}\n`);
}

await runMain({
  usage,
  parse: (args) => {
    const { values } = parseArgs({
      args,
      options: { rounds: text, changes: text, seed: text, only: text, data: text, summary: text },
    });
    return {
      only: values.only === undefined ? undefined : oneOf('part', values.only, ['plugins', 'hosts']),
      rounds: wholeNumber('rounds', values.rounds ?? '1000', 1),
      changes: wholeNumber('changes', values.changes ?? '30', 1),
      seed: wholeNumber('seed', values.seed ?? String(Date.now() % 2 ** 31), 0),
      parent: values.data ?? tmpdir(),
      summaryFile: values.summary,
    };
  },
  run: async ({ only, rounds, changes, seed, parent }: ChurnOptions) => {
    const outcomes: Outcome[] = [];
    if (only !== 'hosts')
      outcomes.push(
        (await churn(rounds, parent))
          ? { passed: 1, failures: [] }
          : { passed: 0, failures: ['churn: something grew'] },
      );
    if (only !== 'plugins') {
      process.stdout.write(`hosts, seed ${seed}\n`);
      outcomes.push(await HostsRun.run({ rounds: changes, seed, parent }));
    }
    return {
      passed: outcomes.reduce((sum, { passed }) => sum + passed, 0),
      failures: outcomes.flatMap(({ failures }) => failures),
    };
  },
});
