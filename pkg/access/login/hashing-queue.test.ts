import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isAccessError } from '../http/access-error.ts';
import { TooManyPasswordsError, HashingQueue } from './hashing-queue.ts';

test('runs at most the maximum at a time, in order of arrival, despite failures', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 0, max: 5 }),
      fc.array(fc.boolean(), { maxLength: 20 }),
      async (maxRunning, maxWaiting, works) => {
        const queue = new HashingQueue({ maxRunning, maxWaiting });
        let running = 0;
        const began: number[] = [];
        const outcomes = await Promise.allSettled(
          works.map((fails, index) =>
            queue.run(async () => {
              running += 1;
              expect(running).toBeLessThanOrEqual(maxRunning);
              began.push(index);
              await new Promise((resolve) => setImmediate(resolve));
              running -= 1;
              if (fails) throw new Error('as asked');
            }),
          ),
        );
        const accepted = Math.min(works.length, maxRunning + maxWaiting);
        expect(began).toEqual(Array.from({ length: accepted }, (_, index) => index));
        for (const [index, outcome] of outcomes.entries()) {
          if (index >= accepted) expect(outcome).toMatchObject({ reason: expect.any(TooManyPasswordsError) });
          else expect(outcome.status).toBe(works[index] === true ? 'rejected' : 'fulfilled');
        }
        // All slots are free again.
        await Promise.all(Array.from({ length: maxRunning }, () => queue.run(async () => {})));
      },
    ),
    { numRuns: 100 },
  );
});

test('an excess request gets 429 everywhere, without details', () => {
  expect(new TooManyPasswordsError()).toMatchObject({
    status: 429,
    body: { code: 'throttled' },
    headers: { 'Retry-After': '1' },
  });
  expect(isAccessError(new TooManyPasswordsError())).toBe(true);
});
