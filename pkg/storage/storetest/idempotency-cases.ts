import { beforeAll, expect, test } from '@jest/globals';
import type { IdempotencyKey } from '../store.ts';
import type { StorePair } from './store-pair.ts';
import { createOf, deleteOf, resourceOf, sampleModel, sampleObject, updateOf } from './sample-model.ts';

const model = sampleModel('claimed');
const second = sampleModel('claimedtoo');
const resource = resourceOf(model);
const idempotencyKeyOf = (key: string, rest: Partial<IdempotencyKey> = {}): IdempotencyKey => ({
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

/** The number of outcomes per code. */
function countOf(outcomes: readonly PromiseSettledResult<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const code of codesOf(outcomes)) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

export function idempotencyCases(pair: () => StorePair): void {
  beforeAll(async () => {
    await pair().store.ensureModel(model);
    await pair().store.ensureModel(second);
  });

  test('an idempotency key is remembered with its write, and only with success', async () => {
    const { store, other } = pair();
    const idempotencyKey = idempotencyKeyOf('k1');
    expect(await store.findRememberedWrite(idempotencyKey)).toBeUndefined();
    await expect(
      store.write(
        { ...createOf(model, sampleObject('x', { spec: { rank: 'bad' } })) },
        { idempotency: idempotencyKey },
      ),
    ).rejects.toMatchObject({ code: 'InvalidKey' });
    const object = await store.write(createOf(model, sampleObject('claimed')), { idempotency: idempotencyKey });
    expect(await other.findRememberedWrite(idempotencyKey)).toEqual({ bodyHash: 'h', type: 'create', object });
    await expect(
      other.write(createOf(model, sampleObject('claimed-2')), { idempotency: idempotencyKey }),
    ).rejects.toMatchObject({ code: 'IdempotencyKeyUsed' });
    expect(await store.get(resource, { namespace: '', name: 'claimed-2' })).toBeUndefined();
    await store.write(deleteOf(model, object));
    expect(await store.findRememberedWrite(idempotencyKey)).toMatchObject({ object: { revision: object.revision } });
  });

  test('an idempotency key of a request that changed nothing is remembered with its result', async () => {
    const { store, other } = pair();
    const idempotencyKey = idempotencyKeyOf('noop', { method: 'PUT' });
    const found = await store.write(createOf(model, sampleObject('unchanged')));
    await store.rememberUnchanged(idempotencyKey, found);
    await expect(other.rememberUnchanged(idempotencyKey, found)).rejects.toMatchObject({ code: 'IdempotencyKeyUsed' });
    await store.write(updateOf(model, found, { by: 'another' }));
    expect(await other.findRememberedWrite(idempotencyKey)).toEqual({ bodyHash: 'h', type: 'update', object: found });
  });

  test('concurrent writes each have the outcome of their own idempotency key: creates, updates and deletes, of two models, with and without a key', async () => {
    const { store, other } = pair();
    const from = await Promise.all(
      numbers(20).map((i) => store.write(createOf(model, sampleObject(`many-from-${i}`)))),
    );
    const writes = numbers(60).map((i) => {
      if (i % 3 === 0) return createOf(i % 2 === 0 ? model : second, sampleObject(`many-${i}`));
      const of = from[Math.floor(i / 3)]!;
      return i % 3 === 1 ? updateOf(model, of, { step: String(i) }) : createOf(second, sampleObject(of.name));
    });
    const deletes = from.slice(10).map((_, i) => idempotencyKeyOf(`many-delete-${i}`, { method: 'DELETE' }));
    const idempotencyKeys = writes.map((_, i) =>
      i % 4 === 3
        ? undefined
        : idempotencyKeyOf(`many-${i}`, { bodyHash: `h${i}`, user: `u${i % 5}`, path: `/p/${i % 7}` }),
    );
    const done = await Promise.all(
      writes.map((write, i) =>
        store.write(write, idempotencyKeys[i] === undefined ? {} : { idempotency: idempotencyKeys[i] }),
      ),
    );
    for (const [i, idempotencyKey] of idempotencyKeys.entries()) {
      if (idempotencyKey !== undefined)
        expect(await other.findRememberedWrite(idempotencyKey)).toEqual({
          bodyHash: `h${i}`,
          type: writes[i]!.type,
          object: done[i],
        });
    }
    const updated = done.filter((_, i) => i % 3 === 1).slice(10);
    const gone = await Promise.all(
      deletes.map((idempotency, i) => other.write(deleteOf(model, updated[i]!), { idempotency })),
    );
    for (const [i, idempotencyKey] of deletes.entries())
      expect(await store.findRememberedWrite(idempotencyKey)).toMatchObject({
        type: 'delete',
        object: { revision: gone[i]!.revision },
      });
  });

  test('idempotency keys that are recalled together each have their own answer', async () => {
    const { store, other } = pair();
    const idempotencyKeys = numbers(300).map((i) => idempotencyKeyOf(`together-${i}`));
    const used = await Promise.all(
      idempotencyKeys
        .slice(0, 5)
        .map((idempotency, i) => store.write(createOf(model, sampleObject(`recalled-${i}`)), { idempotency })),
    );
    const recalled = await Promise.all(
      [...idempotencyKeys, idempotencyKeys[0]!].map((idempotencyKey) => other.findRememberedWrite(idempotencyKey)),
    );
    expect(recalled.map((first) => first?.object)).toEqual([
      ...used,
      ...idempotencyKeys.slice(5).map(() => undefined),
      used[0],
    ]);
  });

  test('of writes with one idempotency key, on one replica or two, one is done', async () => {
    const { store, other } = pair();
    for (const replicas of [
      [store, store, store],
      [store, other],
    ]) {
      const idempotencyKey = idempotencyKeyOf(`race-${replicas.length}`);
      const names = replicas.map((_, i) => `idempotencyKey-race-${replicas.length}-${i}`);
      const outcomes = await Promise.allSettled(
        replicas.map((replica, i) =>
          replica.write(createOf(model, sampleObject(names[i]!)), { idempotency: idempotencyKey }),
        ),
      );
      expect(countOf(outcomes)).toEqual({ done: 1, IdempotencyKeyUsed: names.length - 1 });
      const stored = await Promise.all(names.map((name) => store.get(resource, { namespace: '', name })));
      expect(stored.filter((object) => object !== undefined)).toEqual([
        (await other.findRememberedWrite(idempotencyKey))?.object,
      ]);
    }
  });

  test('many concurrent idempotency keys on two replicas: each is done once, and both replicas recall the same outcome', async () => {
    const { store, other } = pair();
    const replicas = { store, other };
    const idempotencyKeys = numbers(40).map((i) => idempotencyKeyOf(`both-${i}`));
    const outcomes = await Promise.all(
      Object.entries(replicas).map(([by, replica]) =>
        Promise.allSettled(
          idempotencyKeys.map((idempotency, i) =>
            replica.write(createOf(model, sampleObject(`${by}-${i}`)), { idempotency }),
          ),
        ),
      ),
    );
    for (const [i, idempotencyKey] of idempotencyKeys.entries()) {
      const here = await store.findRememberedWrite(idempotencyKey);
      expect(await other.findRememberedWrite(idempotencyKey)).toEqual(here);
      expect(countOf(outcomes.map((each) => each[i]!))).toEqual({ done: 1, IdempotencyKeyUsed: 1 });
      const stored = await Promise.all(
        Object.keys(replicas).map((by) => store.get(resource, { namespace: '', name: `${by}-${i}` })),
      );
      expect(stored.filter((object) => object !== undefined)).toEqual([here?.object]);
    }
  });

  test('a used idempotency key, or one whose write fails, does not affect others', async () => {
    const { store, other } = pair();
    const used = numbers(3).map((i) => idempotencyKeyOf(`used-${i}`));
    const first = await Promise.all(
      used.map((idempotency, i) => other.write(createOf(model, sampleObject(`used-${i}`)), { idempotency })),
    );
    await other.write(createOf(model, sampleObject('slugged', { spec: { slug: 'claimed' } })));
    const good = numbers(20).map((i) => idempotencyKeyOf(`good-${i}`));
    const failing = numbers(3).map((i) => idempotencyKeyOf(`failing-${i}`));
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
      'IdempotencyKeyUsed',
      'IdempotencyKeyUsed',
      'IdempotencyKeyUsed',
      'AlreadyExists',
      'UniqueClash',
      'Conflict',
    ]);
    expect(new Set(codes.slice(6))).toEqual(new Set(['done']));
    for (const [i, idempotencyKey] of used.entries())
      expect(await store.findRememberedWrite(idempotencyKey)).toMatchObject({ object: first[i] });
    for (const idempotencyKey of failing) expect(await store.findRememberedWrite(idempotencyKey)).toBeUndefined();
    for (const [i, idempotencyKey] of good.entries())
      expect(await other.findRememberedWrite(idempotencyKey)).toMatchObject({ object: { name: `good-${i}` } });
    // An idempotency key whose write failed can be used again.
    expect(await other.write(createOf(model, sampleObject('second-try')), { idempotency: failing[0]! })).toMatchObject({
      name: 'second-try',
    });
  });

  test('idempotency keys differ by user, method, path or key', async () => {
    const { store } = pair();
    const idempotencyKeys = [
      {},
      { user: 'v' },
      { method: 'PUT' },
      { path: '/q' },
      { key: 'apart-2' },
      { user: 'u","POST', method: '' },
    ].map((rest) => idempotencyKeyOf('apart', rest));
    const done = await Promise.all(
      idempotencyKeys.map((idempotency, i) =>
        store.write(createOf(model, sampleObject(`apart-${i}`)), { idempotency }),
      ),
    );
    for (const [i, idempotencyKey] of idempotencyKeys.entries())
      expect((await store.findRememberedWrite(idempotencyKey))?.object).toEqual(done[i]);
  });
}
