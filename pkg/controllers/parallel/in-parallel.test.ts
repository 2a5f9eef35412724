import { expect, test } from '@jest/globals';
import { Failures } from './failures.ts';
import { inParallel } from './in-parallel.ts';

test('processes each item once, and never more than the limit at a time', async () => {
  let underWay = 0;
  let most = 0;
  const done: number[] = [];
  await inParallel(Array.from({ length: 20 }).keys(), 3, async (item) => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise(setImmediate);
    underWay -= 1;
    done.push(item);
  });
  expect(most).toBe(3);
  expect(done.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }).map((_, i) => i));
});

test('starts nothing after a failure, and waits for running work', async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  const work = async (item: number): Promise<void> => {
    begun.push(item);
    await new Promise(setImmediate);
    if (item === 0) throw new Error('the first');
    await new Promise(setImmediate);
    ended.push(item);
  };
  await expect(inParallel([0, 1, 2, 3, 4], 2, work)).rejects.toThrow('the first');
  expect([begun, ended]).toEqual([[0, 1], [1]]);
});

test('a few failures do not stop the others, many do', async () => {
  const few = new Failures();
  const done: number[] = [];
  await inParallel([0, 1, 2, 3], 2, (item) =>
    few.attempt(async () => {
      if (item < 2) throw new Error(`no ${item}`);
      done.push(item);
    }),
  );
  expect(done).toEqual([2, 3]);
  expect(() => few.rethrow()).toThrow('no 0');

  const many = new Failures();
  const refuse = (): Promise<void> => many.attempt(() => Promise.reject(new Error('always')));
  await expect(inParallel(Array.from({ length: 100 }).keys(), 4, refuse)).rejects.toThrow('always');
  expect(() => new Failures().rethrow()).not.toThrow();
});
