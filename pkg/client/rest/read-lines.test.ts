import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { readLines } from './read-lines.ts';

beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] }));
afterEach(() => void jest.useRealTimers());

const limits = { maxBytes: 1000, idleTimeoutMs: 45_000 };

test('lines are complete, however they are split', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 20 })),
      fc.array(fc.nat(7), { minLength: 1 }),
      async (texts, sizes) => {
        const lines = texts.map((text) => text.replaceAll('\n', ' '));
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const source = new PassThrough();
        for (let at = 0, i = 0; at < bytes.length; i += 1) {
          const size = sizes[i % sizes.length]! + 1;
          source.write(bytes.subarray(at, at + size));
          at += size;
        }
        source.end('not whole');
        const read: string[] = [];
        for await (const some of readLines(source, limits)) read.push(...some);
        expect(read).toEqual(lines.filter((line) => line !== ''));
      },
    ),
    { numRuns: 100 },
  );
});

test('silence counts only while a reader waits', async () => {
  const source = new PassThrough();
  const lines = readLines(source, limits);
  source.write('a\n');
  expect(await lines.next()).toEqual({ done: false, value: ['a'] });
  jest.advanceTimersByTime(1_000_000);
  expect(source.destroyed).toBe(false);
  const waiting = lines.next();
  jest.advanceTimersByTime(44_000);
  expect(source.destroyed).toBe(false);
  source.write('\n');
  await new Promise((resolve) => setImmediate(resolve));
  jest.advanceTimersByTime(44_000);
  expect(source.destroyed).toBe(false);
  jest.advanceTimersByTime(2_000);
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(source.destroyed).toBe(true);
  expect(jest.getTimerCount()).toBe(0);
});

test('a line that is too long is an error, and the source is closed', async () => {
  const source = new PassThrough();
  source.write(`a\n${'x'.repeat(1001)}`);
  const lines = readLines(source, limits);
  expect(await lines.next()).toEqual({ done: false, value: ['a'] });
  await expect(lines.next()).rejects.toMatchObject({ code: 500 });
  expect(source.destroyed).toBe(true);
});

test.each(['an error', 'a close', 'its end'])('lines end with their source: %s', async (by) => {
  const source = new PassThrough();
  const waiting = readLines(source, limits).next();
  if (by === 'an error') source.destroy(new Error('reset'));
  else if (by === 'a close') source.destroy();
  else source.end();
  expect((await waiting).done).toBe(true);
});
