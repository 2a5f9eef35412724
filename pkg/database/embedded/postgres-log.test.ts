import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { cutPostgresLog, openPostgresLog, readLogTail } from './postgres-log.ts';

const limitBytes = 10 * 1024 * 1024;
let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-postgres-log-'));
  path = join(folder, 'postgres.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

const sizeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.size;

/** Writes through an open file descriptor, as PostgreSQL does. */
async function writeAndCut(bytes: number): Promise<string> {
  const log = await openPostgresLog(folder);
  try {
    await log.write('first\n');
    truncateSync(path, bytes);
    await cutPostgresLog(folder);
    await log.write('next\n');
    return await readLogTail(log, 0);
  } finally {
    await log.close();
  }
}

test('a log over its limit is copied to a second file and truncated, and PostgreSQL continues at its start', async () => {
  writeFileSync(`${path}.1`, 'older');
  expect(await writeAndCut(limitBytes + 1)).toBe('next');
  expect([sizeOf(path), sizeOf(`${path}.1`)]).toEqual([5, limitBytes + 1]);
  expect(readFileSync(`${path}.1`).subarray(0, 6).toString()).toBe('first\n');
});

test('a log within its limit is not changed', async () => {
  await writeAndCut(limitBytes);
  expect([sizeOf(path), sizeOf(`${path}.1`)]).toEqual([limitBytes + 5, undefined]);
});

test('no log is created if there is none', async () => {
  await cutPostgresLog(folder);
  expect([sizeOf(path), sizeOf(`${path}.1`)]).toEqual([undefined, undefined]);
});
