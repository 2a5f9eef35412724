import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Plugin } from 'esbuild';
import { runEsbuild } from './run-esbuild.ts';

let root: string;
let stopped: number[] = [];
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-esbuild-'));
  await writeFile(join(root, 'index.ts'), 'export const a: number = 1;');
});
afterEach(() => {
  for (const pid of stopped) process.kill(pid, 'SIGKILL');
  stopped = [];
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function bundle(timeoutMs?: number): Promise<string> {
  const { outputFiles } = await runEsbuild({ absWorkingDir: root, entryPoints: ['index.ts'] }, timeoutMs);
  return outputFiles[0]!.text;
}

/** esbuild's process, which all test files of this process share. */
async function pids(): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=,stat=,args=', '--ppid', String(process.pid)]);
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  return lines
    .filter(([, stat, ...args]) => stat?.startsWith('Z') === false && args.some((each) => each.startsWith('--service')))
    .map(([pid]) => Number(pid));
}

test('bundling recovers from an esbuild process that was killed or stopped', async () => {
  expect(await bundle()).toContain('a = 1');
  for (const pid of await pids()) process.kill(pid, 'SIGKILL');
  expect(await Promise.all([bundle(), bundle(), bundle()])).toEqual(Array(3).fill(expect.stringContaining('a = 1')));

  stopped = await pids();
  expect(stopped).toHaveLength(1);
  process.kill(stopped[0]!, 'SIGSTOP');
  expect(await Promise.all([bundle(2000), bundle(2000)])).toEqual(Array(2).fill(expect.stringContaining('a = 1')));
});

test('bundling that takes too long while esbuild works is not retried', async () => {
  let loads = 0;
  let end = (): void => undefined;
  const load = (): Promise<undefined> => {
    loads += 1;
    return new Promise((resolve) => {
      end = () => resolve(undefined);
    });
  };
  const endless: Plugin = { name: 'endless', setup: (build) => build.onLoad({ filter: /index/ }, load) };
  const began = await pids();
  await expect(
    runEsbuild({ absWorkingDir: root, entryPoints: ['index.ts'], plugins: [endless] }, 300),
  ).rejects.toMatchObject({ reason: 'BundleFailed', message: 'bundling took longer than 0.3 s' });
  expect([loads, await pids()]).toEqual([1, began]);
  expect(await bundle()).toContain('a = 1');
  end();
});
