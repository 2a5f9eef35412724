import { expect, test } from '@jest/globals';
import { automaticBytes, newByteBudget } from './byte-budget.ts';
import { loadOptions } from '../options/load-options.ts';

const megabyte = 1024 ** 2;

test.each([
  ['the chart', { memory: 1024 * megabyte, heap: 560 * megabyte }, 307],
  ['a small heap in a large container', { memory: 8192 * megabyte, heap: 560 * megabyte }, 308],
  ['less than two bodies need', { memory: 256 * megabyte, heap: 260 * megabyte }, 96],
])('%s', (_reason, limits, megabytes) => {
  expect(Math.floor(automaticBytes(limits) / megabyte)).toBe(megabytes);
});

test('the options override it: two thirds are for moved bytes, one for parsed ones', () => {
  const budget = newByteBudget(
    loadOptions({
      environment: {},
      args: [
        '--svc.http.max-bytes-in-flight=90MiB',
        '--svc.http.max-bytes-in-flight-per-user=10MiB',
        '--svc.http.max-wait=0s',
      ],
    }).options,
  );
  expect({ moved: budget.transfer.total, parsed: budget.parsed.total, maxWaitMs: budget.maxWaitMs }).toEqual({
    moved: 60 * megabyte,
    parsed: 30 * megabyte,
    maxWaitMs: 0,
  });
  const first = { owner: 'a', bytes: 0 };
  expect(budget.transfer.take(first, 10 * megabyte)).toBe(true);
  expect(budget.transfer.isShareOf('a', 1)).toBe(true);
});
