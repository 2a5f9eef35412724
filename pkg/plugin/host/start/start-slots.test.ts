import { expect, test } from '@jest/globals';
import { StartSlots } from './start-slots.ts';

const { signal } = new AbortController();

test('the next start gets a slot when one is released, or was held for too long', async () => {
  const slots = new StartSlots({ limit: 2, longMs: 100 });
  const [first] = await Promise.all([slots.take(signal), slots.take(signal)]);
  let isWaiting = true;
  const third = slots.take(signal).then((giveBack) => {
    isWaiting = false;
    return giveBack;
  });
  await Promise.resolve();
  expect(isWaiting).toBe(true);
  first();
  first();
  await third;
  // The second and third start keep their slots for long.
  const rest = await Promise.all([slots.take(signal), slots.take(signal)]);
  for (const giveBack of rest) giveBack();
});

test('a waiter that aborts leaves the queue', async () => {
  const slots = new StartSlots({ limit: 1, longMs: 60_000 });
  const giveBack = await slots.take(signal);
  const abort = new AbortController();
  const waiting = slots.take(abort.signal);
  abort.abort();
  (await waiting)();
  giveBack();
  (await slots.take(signal))();
});
