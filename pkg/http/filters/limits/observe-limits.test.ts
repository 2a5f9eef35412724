import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { observeLimits, type LimitsObserver } from './observe-limits.ts';

let lines: unknown[] = [];
let observer: LimitsObserver;

beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
  const log = pino(
    {},
    { write: (line: string) => void lines.push((JSON.parse(line) as { refused: unknown }).refused) },
  );
  observer = observeLimits({ log, registry: new Registry(), waiting: () => 0, runningOf: () => 0 });
});

afterEach(() => {
  jest.useRealTimers();
});

function refuse(count: number): void {
  for (let i = 0; i < count; i += 1) observer.refused('total');
}

test('refusals are logged a second after the first, then every ten seconds while there are more', () => {
  refuse(3);
  observer.refused('user');
  jest.advanceTimersByTime(1000);
  expect(lines).toEqual([{ total: 3, user: 1 }]);
  refuse(2);
  jest.advanceTimersByTime(9999);
  expect(lines).toHaveLength(1);
  jest.advanceTimersByTime(1);
  expect(lines[1]).toEqual({ total: 2 });
  jest.advanceTimersByTime(10_000);
  expect([lines.length, jest.getTimerCount()]).toEqual([2, 0]);
});

test('the end logs the remaining refusals, and leaves no timer', () => {
  observer.close();
  expect(lines).toEqual([]);
  refuse(5);
  observer.close();
  expect([lines, jest.getTimerCount()]).toEqual([[{ total: 5 }], 0]);
});
