import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { systemClock } from './clock.ts';
import { WorkQueue } from './work-queue.ts';

const month = 30 * 24 * 3_600_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('calls back once, unless it is cancelled', () => {
  const called: string[] = [];
  systemClock.after(10, () => called.push('a'));
  const callOff = systemClock.after(10, () => called.push('b'));
  callOff();
  jest.advanceTimersByTime(9);
  expect(called).toEqual([]);
  jest.advanceTimersByTime(100);
  expect(called).toEqual(['a']);
});

test('a key whose delay exceeds the longest timer of Node arrives in time', async () => {
  let isCalled = false;
  const callOff = systemClock.after(month, () => (isCalled = true));
  jest.advanceTimersByTime(1000);
  expect(isCalled).toBe(false);
  callOff();
  const queue = new WorkQueue();
  queue.addAfter('a', month);
  jest.advanceTimersByTime(month - 1);
  expect(queue.length).toBe(0);
  jest.advanceTimersByTime(1);
  expect(queue.length).toBe(1);
  await queue.close();
});
