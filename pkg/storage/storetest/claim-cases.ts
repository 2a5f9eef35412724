import { beforeAll, expect, test } from '@jest/globals';
import type { IdempotencyClaim } from '../store.ts';
import type { StorePair } from './store-pair.ts';
import { createOf, deleteOf, resourceOf, sampleModel, sampleObject, updateOf } from './sample-model.ts';

const model = sampleModel('claimed');
const second = sampleModel('claimedtoo');
const resource = resourceOf(model);
const claimOf = (key: string, rest: Partial<IdempotencyClaim> = {}): IdempotencyClaim => ({
  user: 'u',
  method: 'POST',
  path: '/p',
  key,
  bodyHash: 'h',
  ...rest,
});
const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const codesOf = (outcomes: readonly PromiseSettledResult<unknown>[]): string[] =>
  outcomes.map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as { code: string }).code : 'done'));

/** How many outcomes there are of each code. */
function countOf(outcomes: readonly PromiseSettledResult<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const code of codesOf(outcomes)) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

export function claimCases(pair: () => StorePair): void {
  beforeAll(async () => {
    await pair().store.ensureModel(model);
    await pair().store.ensureModel(second);
  });

  test('a claim is remembered with its write, and only with success', async () => {
    const { store, other } = pair();
    const claim = claimOf('k1');
    expect(await store.recall(claim)).toBeUndefined();
    await expect(
      store.write({ ...createOf(model, sampleObject('x', { spec: { rank: 'bad' } })) }, { idempotency: claim }),
    ).rejects.toMatchObject({ code: 'InvalidKey' });
    const object = await store.write(createOf(model, sampleObject('claimed')), { idempotency: claim });
    expect(await other.recall(claim)).toEqual({ bodyHash: 'h', type: 'create', object });
    await expect(other.write(createOf(model, sampleObject('claimed-2')), { idempotency: claim })).rejects.toMatchObject(
      { code: 'ClaimTaken' },
    );
    expect(await store.get(resource, { namespace: '', name: 'claimed-2' })).toBeUndefined();
    await store.write(deleteOf(model, object));
    expect(await store.recall(claim)).toMatchObject({ object: { revision: object.revision } });
  });

  test('a claim of a request that changed nothing is remembered with what it found', async () => {
    const { store, other } = pair();
    const claim = claimOf('noop', { method: 'PUT' });
    const found = await store.write(createOf(model, sampleObject('unchanged')));
    await store.remember(claim, found);
    await expect(other.remember(claim, found)).rejects.toMatchObject({ code: 'ClaimTaken' });
    await store.write(updateOf(model, found, { by: 'another' }));
    expect(await other.recall(claim)).toEqual({ bodyHash: 'h', type: 'update', object: found });
  });

  test('writes made at once each have the outcome of their own claim: creates, updates and deletes, of two models, with and without a claim', async () => {
    const { store, other } = pair();
    const from = await Promise.all(
      numbers(20).map((i) => store.write(createOf(model, sampleObject(`many-from-${i}`)))),
    );
    const writes = numbers(60).map((i) => {
      if (i % 3 === 0) return createOf(i % 2 === 0 ? model : second, sampleObject(`many-${i}`));
      const of = from[Math.floor(i / 3)]!;
      return i % 3 === 1 ? updateOf(model, of, { step: String(i) }) : createOf(second, sampleObject(of.name));
    });
    const deletes = from.slice(10).map((_, i) => claimOf(`many-delete-${i}`, { method: 'DELETE' }));
    const claims = writes.map((_, i) =>
      i % 4 === 3 ? undefined : claimOf(`many-${i}`, { bodyHash: `h${i}`, user: `u${i % 5}`, path: `/p/${i % 7}` }),
    );
    const done = await Promise.all(
      writes.map((write, i) => store.write(write, claims[i] === undefined ? {} : { idempotency: claims[i] })),
    );
    for (const [i, claim] of claims.entries()) {
      if (claim !== undefined)
        expect(await other.recall(claim)).toEqual({ bodyHash: `h${i}`, type: writes[i]!.type, object: done[i] });
    }
    const updated = done.filter((_, i) => i % 3 === 1).slice(10);
    const gone = await Promise.all(
      deletes.map((idempotency, i) => other.write(deleteOf(model, updated[i]!), { idempotency })),
    );
    for (const [i, claim] of deletes.entries())
      expect(await store.recall(claim)).toMatchObject({ type: 'delete', object: { revision: gone[i]!.revision } });
  });

  test('claims recalled together are each answered for themselves', async () => {
    const { store, other } = pair();
    const claims = numbers(300).map((i) => claimOf(`together-${i}`));
    const used = await Promise.all(
      claims
        .slice(0, 5)
        .map((idempotency, i) => store.write(createOf(model, sampleObject(`recalled-${i}`)), { idempotency })),
    );
    const recalled = await Promise.all([...claims, claims[0]!].map((claim) => other.recall(claim)));
    expect(recalled.map((first) => first?.object)).toEqual([...used, ...claims.slice(5).map(() => undefined), used[0]]);
  });

  test('of writes under one claim, on one replica and on two, one is carried out', async () => {
    const { store, other } = pair();
    for (const replicas of [
      [store, store, store],
      [store, other],
    ]) {
      const claim = claimOf(`race-${replicas.length}`);
      const names = replicas.map((_, i) => `claim-race-${replicas.length}-${i}`);
      const outcomes = await Promise.allSettled(
        replicas.map((replica, i) => replica.write(createOf(model, sampleObject(names[i]!)), { idempotency: claim })),
      );
      expect(countOf(outcomes)).toEqual({ done: 1, ClaimTaken: names.length - 1 });
      const stored = await Promise.all(names.map((name) => store.get(resource, { namespace: '', name })));
      expect(stored.filter((object) => object !== undefined)).toEqual([(await other.recall(claim))?.object]);
    }
  });

  test('many claims at once on two replicas: each is carried out once, and both replicas recall the same outcome', async () => {
    const { store, other } = pair();
    const replicas = { store, other };
    const claims = numbers(40).map((i) => claimOf(`both-${i}`));
    const outcomes = await Promise.all(
      Object.entries(replicas).map(([by, replica]) =>
        Promise.allSettled(
          claims.map((idempotency, i) => replica.write(createOf(model, sampleObject(`${by}-${i}`)), { idempotency })),
        ),
      ),
    );
    for (const [i, claim] of claims.entries()) {
      const here = await store.recall(claim);
      expect(await other.recall(claim)).toEqual(here);
      expect(countOf(outcomes.map((each) => each[i]!))).toEqual({ done: 1, ClaimTaken: 1 });
      const stored = await Promise.all(
        Object.keys(replicas).map((by) => store.get(resource, { namespace: '', name: `${by}-${i}` })),
      );
      expect(stored.filter((object) => object !== undefined)).toEqual([here?.object]);
    }
  });

  test('a claim that was used, or whose write fails, takes no other claim with it', async () => {
    const { store, other } = pair();
    const used = numbers(3).map((i) => claimOf(`used-${i}`));
    const first = await Promise.all(
      used.map((idempotency, i) => other.write(createOf(model, sampleObject(`used-${i}`)), { idempotency })),
    );
    await other.write(createOf(model, sampleObject('slugged', { spec: { slug: 'claimed' } })));
    const good = numbers(20).map((i) => claimOf(`good-${i}`));
    const failing = numbers(3).map((i) => claimOf(`failing-${i}`));
    const writes = [
      ...used.map((idempotency, i) => store.write(createOf(model, sampleObject(`used-again-${i}`)), { idempotency })),
      store.write(createOf(model, sampleObject('used-0')), { idempotency: failing[0]! }),
      store.write(createOf(model, sampleObject('clashes', { spec: { slug: 'claimed' } })), {
        idempotency: failing[1]!,
      }),
      store.write(updateOf(model, { ...first[0]!, revision: 1 }, {}), { idempotency: failing[2]! }),
      store.write(createOf(model, sampleObject('unclaimed-neighbour'))),
      ...good.map((idempotency, i) => store.write(createOf(model, sampleObject(`good-${i}`)), { idempotency })),
    ];
    const codes = codesOf(await Promise.allSettled(writes));
    expect(codes.slice(0, 6)).toEqual([
      'ClaimTaken',
      'ClaimTaken',
      'ClaimTaken',
      'AlreadyExists',
      'UniqueClash',
      'Conflict',
    ]);
    expect(new Set(codes.slice(6))).toEqual(new Set(['done']));
    for (const [i, claim] of used.entries()) expect(await store.recall(claim)).toMatchObject({ object: first[i] });
    for (const claim of failing) expect(await store.recall(claim)).toBeUndefined();
    for (const [i, claim] of good.entries())
      expect(await other.recall(claim)).toMatchObject({ object: { name: `good-${i}` } });
    // A claim whose write failed is free for the next try.
    expect(await other.write(createOf(model, sampleObject('second-try')), { idempotency: failing[0]! })).toMatchObject({
      name: 'second-try',
    });
  });

  test('what tells claims apart is the user, the method, the path and the key, each for itself', async () => {
    const { store } = pair();
    const claims = [
      {},
      { user: 'v' },
      { method: 'PUT' },
      { path: '/q' },
      { key: 'apart-2' },
      { user: 'u","POST', method: '' },
    ].map((rest) => claimOf('apart', rest));
    const done = await Promise.all(
      claims.map((idempotency, i) => store.write(createOf(model, sampleObject(`apart-${i}`)), { idempotency })),
    );
    for (const [i, claim] of claims.entries()) expect((await store.recall(claim))?.object).toEqual(done[i]);
  });
}
