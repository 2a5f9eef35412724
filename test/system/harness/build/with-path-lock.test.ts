import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { withPathLock } from './with-path-lock.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-alone-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('of many who ask at once one makes it, and all have it', async () => {
  const path = join(folder, 'many');
  let made = 0;
  const make = async (): Promise<void> => {
    made += 1;
    await writeFile(path, '');
  };
  await Promise.all(Array.from({ length: 5 }, () => withPathLock(path, make)));
  expect([made, existsSync(path), existsSync(`${path}.lock`)]).toEqual([1, true, false]);
});

test('a process that died at it is succeeded', async () => {
  const path = join(folder, 'died');
  await writeFile(`${path}.lock`, String(spawnSync('true').pid));
  await withPathLock(path, () => writeFile(path, ''));
  expect(existsSync(path)).toBe(true);
});

test('who fails leaves the way free', async () => {
  const path = join(folder, 'fails');
  await expect(withPathLock(path, () => Promise.reject(new Error('no space')))).rejects.toThrow('no space');
  await withPathLock(path, () => writeFile(path, ''));
  expect(existsSync(path)).toBe(true);
});
