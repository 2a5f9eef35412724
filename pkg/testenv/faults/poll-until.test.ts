import { expect, test } from '@jest/globals';
import { waitMs, pollUntil } from './poll-until.ts';

test('a wait ends when its condition holds', async () => {
  let asked = 0;
  await pollUntil(() => (asked += 1) === 3);
  await pollUntil(() => Promise.resolve((asked += 1) === 5));
  expect(asked).toBe(5);
});

test('a wait that takes too long names what it waited for, or else its condition', async () => {
  const isOpen = false;
  await expect(pollUntil(() => isOpen, 1, 'the window to open')).rejects.toThrow('waited 1 ms for the window to open');
  await expect(pollUntil(() => isOpen, 1)).rejects.toThrow('waited 1 ms for () => isOpen');
});

test('in a test without I/O a wait ends well before the limit of the test', () => {
  expect(waitMs()).toBeGreaterThanOrEqual(10_000);
  expect(waitMs()).toBeLessThan(Number(process.env['SVC_TEST_LIMIT_MS']));
});
