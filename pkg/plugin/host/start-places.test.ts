import { expect, test } from '@jest/globals';
import { StartPlaces } from './start-places.ts';

const { signal } = new AbortController();

test('the next has a place when one is given back, or was held for long', async () => {
  const places = new StartPlaces({ most: 2, longMs: 100 });
  const [first] = await Promise.all([places.take(signal), places.take(signal)]);
  let isWaiting = true;
  const third = places.take(signal).then((giveBack) => {
    isWaiting = false;
    return giveBack;
  });
  await Promise.resolve();
  expect(isWaiting).toBe(true);
  first();
  first();
  await third;
  // The second and the third hold theirs for long.
  const rest = await Promise.all([places.take(signal), places.take(signal)]);
  for (const giveBack of rest) giveBack();
});

test('who gives up does not wait', async () => {
  const places = new StartPlaces({ most: 1, longMs: 60_000 });
  const giveBack = await places.take(signal);
  const abort = new AbortController();
  const waiting = places.take(abort.signal);
  abort.abort();
  (await waiting)();
  giveBack();
  (await places.take(signal))();
});
