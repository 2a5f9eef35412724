import { expect, test } from '@jest/globals';
import { BytePool, type Claim } from './byte-pool.ts';

function claimOf(owner: string): Claim {
  return { owner, bytes: 0 };
}

/** Of a claim that has to wait: has it got its bytes by now? */
async function isTaken(turn: boolean | Promise<boolean>): Promise<boolean | 'waits'> {
  const later = new Promise<'waits'>((resolve) => {
    setImmediate(() => resolve('waits'));
  });
  return Promise.race([turn, later]);
}

test('an owner takes no more than then stays free, so that the next finds room, and the one after', async () => {
  const pool = new BytePool({ total: 100 });
  const [first, second, third] = [claimOf('a'), claimOf('b'), claimOf('c')];
  expect(pool.take(first, 40)).toBe(true);
  expect(pool.take(claimOf('a'), 10)).toBe(true);
  const beyond = pool.take(claimOf('a'), 1, { maxWaitMs: 60_000 });
  expect(await isTaken(beyond)).toBe('waits');
  expect(await isTaken(pool.take(second, 20))).toBe(true);
  expect(await isTaken(pool.take(third, 10))).toBe(true);
  expect(pool.used).toBe(80);
  // Of b and c: as much is free as a may hold.
  pool.give(first, 40);
  expect(await isTaken(beyond)).toBe(true);
});

test('a share that is smaller than half holds', async () => {
  const pool = new BytePool({ total: 100, perOwner: 20 });
  expect(pool.take(claimOf('a'), 20)).toBe(true);
  const more = pool.take(claimOf('a'), 1, { maxWaitMs: 0 });
  expect(pool.isShareOf('a', 1)).toBe(true);
  expect(await more).toBe(false);
});

test('whoever waits longer than they may, or gives up, gets nothing and is no longer waited for', async () => {
  const pool = new BytePool({ total: 10 });
  const held = claimOf('a');
  pool.add(held, 10);
  expect(await pool.take(claimOf('b'), 5, { maxWaitMs: 1 })).toBe(false);
  const leaving = new AbortController();
  const left = pool.take(claimOf('b'), 5, { signal: leaving.signal });
  leaving.abort();
  expect(await left).toBe(false);
  expect(pool.waiting).toBe(0);
  pool.give(held, 10);
  expect(pool.used).toBe(0);
});

test('of those who wait the owner who holds least is next, whenever they came', async () => {
  const pool = new BytePool({ total: 100 });
  const [large, small] = [claimOf('a'), claimOf('a')];
  pool.add(large, 30);
  pool.add(small, 20);
  pool.add(claimOf('c'), 50);
  const turns = { a: pool.take(claimOf('a'), 10), b: pool.take(claimOf('b'), 20) };
  pool.give(small, 20);
  expect(await isTaken(turns.b)).toBe(true);
  expect(await isTaken(turns.a)).toBe('waits');
});

test('what is freed is kept for a large claim that waits: smaller ones do not take it again and again', async () => {
  const pool = new BytePool({ total: 100 });
  const held = [claimOf('a'), claimOf('a')];
  for (const claim of held) pool.add(claim, 45);
  const large = pool.take(claimOf('b'), 80);
  pool.give(held[0]!, 45);
  const small = pool.take(claimOf('c'), 5);
  expect(await isTaken(small)).toBe('waits');
  pool.give(held[1]!, 45);
  expect(await isTaken(large)).toBe(true);
  expect(await isTaken(small)).toBe(true);
});

test('a claim larger than the pool has it alone', async () => {
  const pool = new BytePool({ total: 10 });
  const huge = claimOf('a');
  expect(pool.take(huge, 50)).toBe(true);
  const next = pool.take(claimOf('b'), 1);
  expect(await isTaken(next)).toBe('waits');
  pool.give(huge, 50);
  expect(await isTaken(next)).toBe(true);
});

test("what is taken at once or not at all does not wait, and keeps to its owner's share", async () => {
  const pool = new BytePool({ total: 100, perOwner: 40 });
  const claim = claimOf('a');
  expect(pool.takeNow(claim, 30)).toBe(true);
  expect(pool.takeNow(claim, 20)).toBe(false);
  const waiting = pool.take(claimOf('b'), 80);
  expect(await isTaken(waiting)).toBe('waits');
  expect(pool.takeNow(claim, 10)).toBe(true);
  expect(claim.bytes).toBe(40);
  pool.give(claim, 40);
  expect(await isTaken(waiting)).toBe(true);
});

test('requests that hold something and all wait for more come to their ends, one after the other', async () => {
  const pool = new BytePool({ total: 100 });
  const requests = Array.from({ length: 10 }, (_, i) => ({ held: claimOf(`u${i}`), more: claimOf(`u${i}`) }));
  for (const { held } of requests) pool.add(held, 10);
  const newcomer = pool.take(claimOf('new'), 60);
  let most = 0;
  await Promise.all(
    requests.map(async ({ held, more }) => {
      expect(await pool.take(more, 50, { overdraws: true })).toBe(true);
      most = Math.max(most, pool.used);
      pool.give(more, 50);
      pool.give(held, 10);
    }),
  );
  expect(await newcomer).toBe(true);
  expect(most).toBeLessThanOrEqual(150);
  expect(pool.used).toBe(60);
});

test('whoever has more than there is and needs still more comes to its end first', async () => {
  const pool = new BytePool({ total: 100 });
  const [first, second] = [claimOf('a'), claimOf('a')];
  for (const claim of [first, second]) pool.add(claim, 50);
  expect(pool.take(first, 10, { overdraws: true })).toBe(true);
  const turn = pool.take(second, 10, { overdraws: true });
  expect(await isTaken(turn)).toBe('waits');
  expect(pool.take(first, 10, { overdraws: true })).toBe(true);
  pool.give(first, 70);
  expect(await isTaken(turn)).toBe(true);
});
