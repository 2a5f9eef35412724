import { beforeAll, describe, expect, test } from '@jest/globals';
import type { QuotaLimits, QuotaUsage } from '../quotas.ts';
import type { Store, StoredObject, StoreWriteOptions, Write } from '../store.ts';
import { next } from './fence-cases.ts';
import { createOf, resourceOf, sampleModel, sampleObject, widgetIndexes } from './sample-model.ts';
import type { StorePair } from './store-pair.ts';

const model = sampleModel('limited', { namespaced: true, indexes: [widgetIndexes.slug] });
const second = sampleModel('alsolimited', { namespaced: true, indexes: [] });
const unlimited = sampleModel('unlimited', { namespaced: true, indexes: [] });
const quotaModel = { ...sampleModel('resourcequotas', { namespaced: true, indexes: [] }), group: '' };
const never = new AbortController().signal;

/** The ways to send a write: alone, or together with another one, which uses the general statement. */
const ways: Record<string, (store: Store, write: Write, options?: StoreWriteOptions) => Promise<StoredObject>> = {
  alone: (store, write, options) => store.write(write, options),
  'in company': async (store, write, options) => {
    const [outcome] = await Promise.allSettled([
      store.write(write, options),
      store.write(createOf(unlimited, sampleObject(`company-${Math.random()}`, { namespace: 'elsewhere' }))),
    ]);
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  },
};

export function quotaCases(pair: () => StorePair): void {
  beforeAll(async () => {
    for (const each of [model, second, unlimited, quotaModel]) await pair().store.ensureModel(each);
  });

  let made = 0;
  const newNamespace = (): string => `quota-${(made += 1)}`;
  const create = (namespace: string, name: string, { text = '', of = model } = {}): Write =>
    createOf(of, sampleObject(name, { namespace, spec: { text } }));
  const count = (max: number): QuotaLimits => ({ resource: resourceOf(model), count: { max, quota: 'few' } });
  const bytes = (max: number, resource = true): QuotaLimits => ({
    ...(resource ? { resource: resourceOf(model) } : {}),
    bytes: { max, quota: 'small' },
  });
  const limit = async (namespace: string, ...limits: QuotaLimits[]): Promise<void> => {
    const { quotas } = pair().store;
    await quotas.set(namespace, limits);
    await quotas.count(namespace, never);
  };
  const usage = async (namespace: string): Promise<QuotaUsage[]> =>
    (await pair().other.quotas.usage([namespace])).get(namespace) ?? [];
  const grow = (from: StoredObject, length: number): Write => next(model, from, { text: 'x'.repeat(length) });

  describe.each(Object.keys(ways))('%s', (way) => {
    const run = ways[way]!;

    test('no more objects than the limit; a deletion makes room', async () => {
      const { store, other } = pair();
      const namespace = newNamespace();
      await limit(namespace, count(2));
      const first = await run(store, create(namespace, 'a'));
      await run(other, create(namespace, 'b'));
      const message =
        'exceeded quota: few, requested: count/limited.store.example.com=1, used: count/limited.store.example.com=2, limited: count/limited.store.example.com=2';
      await expect(run(store, create(namespace, 'c'))).rejects.toMatchObject({ code: 'QuotaExceeded', message });
      await expect(run(store, create(namespace, 'c'), { dryRun: true })).rejects.toMatchObject({ message });
      await expect(run(store, create(namespace, 'a'))).rejects.toMatchObject({ code: 'AlreadyExists' });
      await run(store, create(newNamespace(), 'c'));
      await run(store, create(namespace, 'c', { of: second }));
      await run(other, next(model, first));
      await run(store, create(namespace, 'c'));
      expect(await usage(namespace)).toMatchObject([{ limits: count(2), count: 2, isCounted: true, mustCount: false }]);
    });

    test('no more bytes than the limit; what shrinks, or is being deleted, passes', async () => {
      const { store } = pair();
      const namespace = newNamespace();
      const object = await run(store, create(namespace, 'a'));
      const size = Buffer.byteLength(object.body);
      await limit(namespace, bytes(size + 100));
      const larger = await run(store, grow(object, 100));
      await expect(run(store, grow(larger, 101))).rejects.toMatchObject({
        code: 'QuotaExceeded',
        message: `exceeded quota: small, requested: bytes/limited.store.example.com=1, used: bytes/limited.store.example.com=${size + 100}, limited: bytes/limited.store.example.com=${size + 100}`,
      });
      await expect(run(store, create(namespace, 'b'))).rejects.toMatchObject({ code: 'QuotaExceeded' });
      await limit(namespace, bytes(10));
      const smaller = await run(store, grow(larger, 50));
      const deleted = '2026-03-01T00:00:00Z';
      const marking = next(model, smaller, { text: 'x'.repeat(60) });
      const marked = await run(store, {
        ...marking,
        object: { ...marking.object, metadata: { ...marking.object.metadata, deletionTimestamp: deleted } },
      });
      expect(await usage(namespace)).toMatchObject([{ count: 1, bytes: Buffer.byteLength(marked.body) }]);
      await run(store, next(model, marked));
      expect(await usage(namespace)).toMatchObject([{ count: 0, bytes: 0 }]);
    });

    test('a limit on all models counts each, but quotas themselves', async () => {
      const { store } = pair();
      const namespace = newNamespace();
      await limit(namespace, bytes(2_000, false));
      const text = 'x'.repeat(1_500);
      await run(store, create(namespace, 'a', { text }));
      for (const each of [model, second]) {
        await expect(run(store, create(namespace, 'b', { text, of: each }))).rejects.toMatchObject({
          message: expect.stringMatching(
            /^exceeded quota: small, requested: bytes=\d+, used: bytes=\d+, limited: bytes=2000$/,
          ),
        });
      }
      await run(store, create(namespace, 'b', { text, of: quotaModel }));
      const later = sampleModel(`later${made}`, { namespaced: true, indexes: [] });
      await store.ensureModel(later);
      await expect(run(store, create(namespace, 'b', { text, of: later }))).rejects.toMatchObject({
        code: 'QuotaExceeded',
      });
      await limit(namespace);
      await run(store, create(namespace, 'b', { text, of: second }));
      expect(await usage(namespace)).toEqual([]);
    });
  });

  test('of many creates at once, on two stores, exactly as many succeed as there is room', async () => {
    const { store, other } = pair();
    const namespace = newNamespace();
    await limit(namespace, count(20), bytes(1_000_000, false));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? store : other).write(create(namespace, `o-${i}`))),
    );
    const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    expect(refused).toHaveLength(80);
    expect(refused).toEqual(refused.map(() => expect.objectContaining({ code: 'QuotaExceeded' })));
    expect(await usage(namespace)).toMatchObject([{ count: 20 }, { count: 20 }]);
  });

  test('a create that fails uses nothing of the quota that others of its batch need', async () => {
    const { store } = pair();
    const namespace = newNamespace();
    await store.write(create(namespace, 'there'));
    await limit(namespace, count(3));
    const outcomes = await Promise.allSettled(
      ['there', 'a', 'there', 'b'].map((name) => store.write(create(namespace, name))),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
  });

  test('within a batch, in its order: what a deletion frees, and what a refused write leaves', async () => {
    const { store } = pair();
    const namespace = newNamespace();
    const old = await store.write(create(namespace, 'old'));
    const size = Buffer.byteLength(old.body);
    await limit(namespace, count(2), bytes(2 * size + 50));
    const outcomes = await Promise.allSettled([
      store.write(create(namespace, 'too-large', { text: 'x'.repeat(size + 50) })),
      store.write(next(model, old)),
      store.write(create(namespace, 'one')),
      store.write(create(namespace, 'two')),
      store.write(create(namespace, 'six')),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
    ]);
  });

  test('a limit over objects that exist refuses nothing until they are counted, while writes go on', async () => {
    const { store, other } = pair();
    const namespace = newNamespace();
    const objects = await Promise.all(
      Array.from({ length: 50 }, (_, i) => store.write(create(namespace, `o-${i}`, { text: 'ü'.repeat(i) }))),
    );
    await store.quotas.set(namespace, [{ ...count(10), ...bytes(100) }]);
    await store.write(create(namespace, 'before'));
    expect(await usage(namespace)).toMatchObject([{ isCounted: false, mustCount: true }]);
    const counting = store.quotas.count(namespace, never);
    const written: Promise<StoredObject>[] = [];
    for (const [i, object] of objects.slice(0, 40).entries()) {
      written.push(other.write(i % 2 === 0 ? next(model, object) : grow(object, i)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await counting;
    // A write that would grow is refused once the limit is in force.
    await Promise.allSettled(written);
    const there = await store.stream(resourceOf(model), {
      namespace,
      selector: { labels: [], fields: [] },
      sort: [],
      order: 'sort',
    });
    const bodies: string[] = [];
    for await (const batch of there.objects) {
      bodies.push(...batch.map(({ body }) => body));
    }
    expect(await usage(namespace)).toEqual([
      {
        limits: { ...count(10), ...bytes(100) },
        count: bodies.length,
        bytes: Buffer.byteLength(bodies.join('')),
        isCounted: true,
        mustCount: false,
      },
    ]);
    await expect(store.write(create(namespace, 'after'))).rejects.toMatchObject({ code: 'QuotaExceeded' });
  });

  test('of limits that come and go, usage begins anew', async () => {
    const { store } = pair();
    const namespace = newNamespace();
    await limit(namespace, count(9));
    await store.write(create(namespace, 'a'));
    await limit(namespace);
    await store.write(create(namespace, 'b'));
    await limit(namespace, count(9));
    expect(await usage(namespace)).toMatchObject([{ count: 2, isCounted: true }]);
  });

  test('a model that is dropped takes what it used with it', async () => {
    const { store } = pair();
    const namespace = newNamespace();
    const gone = sampleModel('gone', { namespaced: true, indexes: [] });
    await store.ensureModel(gone);
    await limit(namespace, bytes(5_000, false), { resource: resourceOf(gone), count: { max: 1, quota: 'few' } });
    await store.write(create(namespace, 'a', { of: gone, text: 'x'.repeat(4_000) }));
    await store.dropModel(resourceOf(gone));
    await expect(store.write(create(namespace, 'b', { text: 'x'.repeat(4_000) }))).rejects.toMatchObject({
      code: 'QuotaExceeded',
    });
    await store.quotas.count(namespace, never);
    expect(await usage(namespace)).toMatchObject([
      { limits: bytes(5_000, false), count: 0, bytes: 0, isCounted: true },
    ]);
    await store.write(create(namespace, 'b', { text: 'x'.repeat(4_000) }));
  });

  test('limits on a model without a table are ignored, and namespaces are told', async () => {
    const { store } = pair();
    const [one, two] = [newNamespace(), newNamespace()];
    await limit(one, { resource: { group: 'nowhere.example.com', resource: 'things' }, count: { max: 0, quota: 'q' } });
    await limit(two, count(1));
    expect(await usage(one)).toEqual([]);
    const all = await store.quotas.namespaces();
    expect(all).toContain(two);
    expect(all).not.toContain(one);
  });

  test('compaction keeps the newest usage alone', async () => {
    const { store } = pair();
    const namespace = newNamespace();
    await limit(namespace, count(5));
    for (const name of ['a', 'b', 'c']) await store.write(create(namespace, name));
    await store.compact({ minAgeMs: 1e12, maxSizeBytes: 1e12, idempotencyKeyAgeMs: 1e12 });
    expect(await usage(namespace)).toMatchObject([{ count: 3 }]);
    for (const name of ['d', 'e']) await store.write(create(namespace, name));
    await expect(store.write(create(namespace, 'f'))).rejects.toMatchObject({ code: 'QuotaExceeded' });
  });
}
