import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { transform } from 'esbuild';
import type { Client } from '#pkg/apimachinery/index';
import type { PluginBundle } from '../bundle/bundle-plugin.ts';
import { PluginWorker } from './plugin-worker.ts';
import { threadCount, threadsLeftBehind, WorkerThread, type WorkerThreadOptions } from './worker-thread.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-thread-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function startThread(code: string, options: Partial<WorkerThreadOptions> = {}): Promise<WorkerThread> {
  const file = join(folder, `${Math.random()}.mjs`);
  await writeFile(file, code);
  return new WorkerThread({
    plugin: 'test',
    file,
    data: {},
    transfer: [],
    environment: {},
    log,
    memoryMiB: 64,
    blockedMs: 1000,
    ...options,
  });
}

/** Blocks in a system call that nothing can interrupt; the file shows when. */
const asleep = (marker: string, seconds: number): string =>
  `import { execFileSync } from 'node:child_process'; execFileSync('/bin/sh', ['-c', 'echo > ${marker}; exec sleep ${seconds}']);`;
const beating = `import { workerData } from 'node:worker_threads'; const pulse = new Int32Array(workerData.pulse); const beat = () => Atomics.add(pulse, 0, 1); beat(); setInterval(beat, 100);`;

test('many threads expose their collectors concurrently', async () => {
  const { code } = await transform(
    await readFile(fileURLToPath(new URL('heap-collector.ts', import.meta.url)), 'utf8'),
    { loader: 'ts', format: 'esm' },
  );
  const ends: unknown[] = [];
  for (let round = 0; round < 5; round += 1) {
    const threads = await Promise.all(
      Array.from({ length: 8 }, () =>
        startThread(`${code} exposeCollector()(); process.exit(typeof gc === 'undefined' ? 7 : 8);`),
      ),
    );
    for (const { ended } of threads) ends.push((await ended)?.message);
  }
  expect(new Set(ends)).toEqual(new Set(['it ended its own thread: process.exit(7)']));
});

test('a worker may be busy while it loads; after that only briefly', async () => {
  const busy = (ms: number): string => `const end = Date.now() + ${ms}; while (Date.now() < end);`;
  const thread = await startThread(`${beating} setTimeout(() => { ${busy(1500)} process.exit(5); }, 1);`, {
    blockedMs: 400,
  });
  expect(await thread.ended).toMatchObject({ reason: 'Exited' });
  const begun = await startThread(`${beating} setInterval(() => { ${busy(60_000)} }, 300);`, { blockedMs: 400 });
  begun.begin();
  expect(await begun.ended).toMatchObject({ reason: 'Blocked' });
});

test('threads that do not terminate are counted, and after three there is no other', async () => {
  const markers = [1, 2, 3].map((i) => join(folder, `asleep-${i}`));
  const threads = await Promise.all(markers.map((marker) => startThread(asleep(marker, 10), { terminateMs: 300 })));
  while (!markers.every((marker) => existsSync(marker))) await new Promise((resolve) => setImmediate(resolve));
  await Promise.all(threads.map((thread) => thread.terminate()));
  expect([threadsLeftBehind('test'), threadsLeftBehind('other'), threadCount()]).toEqual([3, 0, 3]);
  const start = PluginWorker.start({
    name: 'test',
    bundle: {} as PluginBundle,
    client: {} as Client,
    log,
    environment: {},
    limits: { memoryMiB: 64, startSeconds: 5, blockedSeconds: 1 },
  });
  await expect(start).rejects.toMatchObject({
    name: 'PluginError',
    reason: 'Stuck',
    message: expect.stringContaining('3 threads of it were told to end, and have not'),
  });
  while (threadCount() > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(threadsLeftBehind('test')).toBe(0);
});

test.each([
  ['a stop that left one behind', 'terminateMs: 100', ''],
  [
    'a second signal, while one stands still',
    '',
    "process.emit('SIGTERM'); setTimeout(() => process.emit('SIGTERM'), 600);",
  ],
])('%s ends the process nevertheless', async (_case, option, signals) => {
  const sources = new URL('../../../', import.meta.url).href;
  const program = join(folder, 'program.mts');
  await writeFile(join(folder, 'asleep.mjs'), asleep(`${folder}/asleep`, 30));
  await rm(join(folder, 'asleep'), { force: true });
  await writeFile(
    program,
    `
    import { existsSync } from 'node:fs';
    import { runUntilSignal } from '${sources}cmd/svc/process/run-until-signal.ts';
    import { WorkerThread } from '${sources}pkg/plugin/worker/worker-thread.ts';
    const log = { info() {}, warn() {}, error() {}, fatal() {} };
    const start = async () => {
      const thread = new WorkerThread({ plugin: 'test', file: '${folder}/asleep.mjs', data: {}, transfer: [], environment: {}, log, memoryMiB: 64, blockedMs: 1000, ${option} });
      while (!existsSync('${folder}/asleep')) await new Promise((resolve) => setTimeout(resolve, 10));
      ${signals === '' ? "setTimeout(() => process.emit('SIGTERM'), 10);" : signals}
      return { stop: async () => (await thread.terminate(), true) };
    };
    process.on('exit', () => console.log('exit handlers run'));
    process.exit(await runUntilSignal(start, { log, drainTimeoutMs: 60_000 }));
  `,
  );
  const child = spawn(process.execPath, ['--conditions=source', '--import', 'tsx', program], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const before = performance.now();
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  expect(performance.now() - before).toBeLessThan(30_000);
  expect(said).toContain('exit handlers run');
});
