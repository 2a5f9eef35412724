import { expect, test } from '@jest/globals';
import { compare, type Contender } from './comparison.ts';
import { ratioGoal } from './goals.ts';
import { Report } from './report.ts';
import type { Sample } from './sample.ts';
import { number } from '../../test/system/harness/run/table.ts';

/** A contender whose windows have these rates, one after the other. */
function contender(name: string, rates: number[], errors = 0): Contender {
  const windows = rates.values();
  const sample = (requests: number): Sample => ({
    requests,
    seconds: 1,
    p50: 1,
    p99: 2,
    errors,
    ...(errors > 0 ? { failure: '500' } : {}),
    cpu: { server: 0.1, postgres: 0, loader: 0.01 },
  });
  return { name, run: () => Promise.resolve(sample(windows.next().value ?? 0)) };
}

test('only windows of the same round are divided by each other', async () => {
  const compared = await compare([contender('svc', [100, 200, 300]), contender('bare', [100, 100, 600])], 3);
  expect(compared[1]?.ratio).toEqual({ median: 1, min: 0.5, max: 2 });
  const report = new Report();
  ratioGoal(report, 'GET', compared, { to: 'bare', atLeast: 1.2 });
  expect(report.toString()).toMatch(/GET +at least 1.2 times bare +1.00 \(0.50..2.00\) +NOT met/);
  expect(report.failed).toBe(false);
});

test('an error in any window fails the run', async () => {
  const report = new Report();
  report.compared('GET', await compare([contender('svc', [100, 100, 100], 1)], 3));
  expect(report.failed).toBe(true);
  expect(report.toString()).toContain('FAILED GET, svc: 3 errors, the first: 500');
});

test.each([
  [0.1234, '0.12'],
  [12.34, '12.3'],
  [123.4, '123'],
  [1_234_567, '1 234 567'],
])('%d is shown as %s', (value, shown) => {
  expect(number(value)).toBe(shown);
});
