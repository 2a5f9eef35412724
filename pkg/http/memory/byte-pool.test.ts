import { expect, test } from '@jest/globals';
import { BytePool, type Reservation } from './byte-pool.ts';

function reservationOf(owner: string): Reservation {
  return { owner, bytes: 0 };
}

/** Whether a reservation has its bytes by now. */
async function isTaken(turn: boolean | Promise<boolean>): Promise<boolean | 'waits'> {
  const later = new Promise<'waits'>((resolve) => {
    setImmediate(() => resolve('waits'));
  });
  return Promise.race([turn, later]);
}

test('an owner may not take more than what then remains free, so that the next owners find room', async () => {
  const pool = new BytePool({ total: 100 });
  const [first, second, third] = [reservationOf('a'), reservationOf('b'), reservationOf('c')];
  expect(pool.take(first, 40)).toBe(true);
  expect(pool.take(reservationOf('a'), 10)).toBe(true);
  const beyond = pool.take(reservationOf('a'), 1, { maxWaitMs: 60_000 });
  expect(await isTaken(beyond)).toBe('waits');
  expect(await isTaken(pool.take(second, 20))).toBe(true);
  expect(await isTaken(pool.take(third, 10))).toBe(true);
  expect(pool.used).toBe(80);
  // b and c: the free bytes are as many as one owner may hold.
  pool.give(first, 40);
  expect(await isTaken(beyond)).toBe(true);
});

test('a share smaller than half applies', async () => {
  const pool = new BytePool({ total: 100, perOwner: 20 });
  expect(pool.take(reservationOf('a'), 20)).toBe(true);
  const more = pool.take(reservationOf('a'), 1, { maxWaitMs: 0 });
  expect(pool.isShareOf('a', 1)).toBe(true);
  expect(await more).toBe(false);
});

test('a reservation that times out or is aborted gets nothing and leaves the queue', async () => {
  const pool = new BytePool({ total: 10 });
  const held = reservationOf('a');
  pool.add(held, 10);
  expect(await pool.take(reservationOf('b'), 5, { maxWaitMs: 1 })).toBe(false);
  const leaving = new AbortController();
  const left = pool.take(reservationOf('b'), 5, { signal: leaving.signal });
  leaving.abort();
  expect(await left).toBe(false);
  expect(pool.waiting).toBe(0);
  pool.give(held, 10);
  expect(pool.used).toBe(0);
});

test('the waiting owner who holds least is next, in any order of arrival', async () => {
  const pool = new BytePool({ total: 100 });
  const [large, small] = [reservationOf('a'), reservationOf('a')];
  pool.add(large, 30);
  pool.add(small, 20);
  pool.add(reservationOf('c'), 50);
  const turns = { a: pool.take(reservationOf('a'), 10), b: pool.take(reservationOf('b'), 20) };
  pool.give(small, 20);
  expect(await isTaken(turns.b)).toBe(true);
  expect(await isTaken(turns.a)).toBe('waits');
});

test('freed bytes are kept for a waiting large reservation: smaller ones do not starve it', async () => {
  const pool = new BytePool({ total: 100 });
  const held = [reservationOf('a'), reservationOf('a')];
  for (const reservation of held) pool.add(reservation, 45);
  const large = pool.take(reservationOf('b'), 80);
  pool.give(held[0]!, 45);
  const small = pool.take(reservationOf('c'), 5);
  expect(await isTaken(small)).toBe('waits');
  pool.give(held[1]!, 45);
  expect(await isTaken(large)).toBe(true);
  expect(await isTaken(small)).toBe(true);
});

test('a reservation larger than the pool gets the whole pool', async () => {
  const pool = new BytePool({ total: 10 });
  const huge = reservationOf('a');
  expect(pool.take(huge, 50)).toBe(true);
  const next = pool.take(reservationOf('b'), 1);
  expect(await isTaken(next)).toBe('waits');
  pool.give(huge, 50);
  expect(await isTaken(next)).toBe(true);
});

test("a reservation without waiting succeeds or fails at once, within its owner's share", async () => {
  const pool = new BytePool({ total: 100, perOwner: 40 });
  const reservation = reservationOf('a');
  expect(pool.tryTake(reservation, 30)).toBe(true);
  expect(pool.tryTake(reservation, 20)).toBe(false);
  const waiting = pool.take(reservationOf('b'), 80);
  expect(await isTaken(waiting)).toBe('waits');
  expect(pool.tryTake(reservation, 10)).toBe(true);
  expect(reservation.bytes).toBe(40);
  pool.give(reservation, 40);
  expect(await isTaken(waiting)).toBe(true);
});

test('requests that hold bytes and all wait for more end one after the other', async () => {
  const pool = new BytePool({ total: 100 });
  const requests = Array.from({ length: 10 }, (_, i) => ({
    held: reservationOf(`u${i}`),
    more: reservationOf(`u${i}`),
  }));
  for (const { held } of requests) pool.add(held, 10);
  const newRequest = pool.take(reservationOf('new'), 60);
  let most = 0;
  await Promise.all(
    requests.map(async ({ held, more }) => {
      expect(await pool.take(more, 50, { overdraws: true })).toBe(true);
      most = Math.max(most, pool.used);
      pool.give(more, 50);
      pool.give(held, 10);
    }),
  );
  expect(await newRequest).toBe(true);
  expect(most).toBeLessThanOrEqual(150);
  expect(pool.used).toBe(60);
});

test('an owner with more than the pool that needs still more ends first', async () => {
  const pool = new BytePool({ total: 100 });
  const [first, second] = [reservationOf('a'), reservationOf('a')];
  for (const reservation of [first, second]) pool.add(reservation, 50);
  expect(pool.take(first, 10, { overdraws: true })).toBe(true);
  const turn = pool.take(second, 10, { overdraws: true });
  expect(await isTaken(turn)).toBe('waits');
  expect(pool.take(first, 10, { overdraws: true })).toBe(true);
  pool.give(first, 70);
  expect(await isTaken(turn)).toBe(true);
});
