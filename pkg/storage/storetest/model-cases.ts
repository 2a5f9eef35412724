import { expect, test } from '@jest/globals';
import { decodeBody } from '../body.ts';
import { builtinIndexes, parseFieldSelector, pause } from '#pkg/apimachinery/index';
import type { PageQuery, Store } from '../store.ts';
import type { StorePair } from './store-pair.ts';
import {
  createOf,
  deleteOf,
  resourceOf,
  sampleModel,
  sampleObject,
  widgetIndexes,
  type StoreModel,
} from './sample-model.ts';

async function eventually<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    if (Date.now() > deadline) throw new Error(`still ${JSON.stringify(value)}`);
    await pause(20);
  }
}

function queryFor(model: StoreModel, selector: string): PageQuery {
  const fields = parseFieldSelector([selector], [...builtinIndexes, ...model.indexes]);
  return { selector: { labels: [], fields }, sort: [], page: 1, size: 100, exactTotal: false, exactTotalLimit: 10_000 };
}

async function ready(store: Store, model: StoreModel): Promise<void> {
  await eventually(
    () => store.indexStates(resourceOf(model)),
    (states) => states.every(({ state }) => state !== 'building'),
  );
}

export function modelCases(pair: () => StorePair): void {
  test('ensureModel is idempotent, from both replicas at once', async () => {
    const { store, other } = pair();
    const model = sampleModel('ensured');
    await Promise.all([store, other, store, other].map((replica) => replica.ensureModel(model)));
    await store.write(createOf(model, sampleObject('a')));
    expect(await other.get(resourceOf(model), { namespace: '', name: 'a' })).toBeDefined();
  });

  test('a missing model is not found, and is found once another replica creates it', async () => {
    const { store, other } = pair();
    const model = sampleModel('late');
    await expect(other.get(resourceOf(model), { namespace: '', name: 'a' })).rejects.toMatchObject({
      code: 'ModelNotFound',
    });
    await store.ensureModel(model);
    expect(await other.get(resourceOf(model), { namespace: '', name: 'a' })).toBeUndefined();
  });

  test('a model is dropped with its objects; recreated, it is empty on both replicas', async () => {
    const { store, other } = pair();
    const model = sampleModel('dropped');
    await store.ensureModel(model);
    await other.write(createOf(model, sampleObject('a', { spec: { slug: 's' } })));
    await store.dropModel(resourceOf(model));
    await store.dropModel(resourceOf(model));
    await expect(other.write(createOf(model, sampleObject('b')))).rejects.toMatchObject({ code: 'ModelNotFound' });
    await expect(other.get(resourceOf(model), { namespace: '', name: 'a' })).rejects.toMatchObject({
      code: 'ModelNotFound',
    });
    await other.ensureModel(model);
    await store.write(createOf(model, sampleObject('a', { spec: { slug: 's' } })));
    await other.write(createOf(model, sampleObject('c')));
  });

  test('a model that must be empty is dropped only without objects, also those that another replica is writing', async () => {
    const { store, other } = pair();
    const model = sampleModel('emptied');
    const resource = resourceOf(model);
    await store.ensureModel(model);
    const created = await other.write(createOf(model, sampleObject('a')));
    expect(await store.dropModel(resource, { ifEmpty: true })).toBe(false);
    expect(await store.get(resource, { namespace: '', name: 'a' })).toEqual(created);
    await other.write(deleteOf(model, created));
    const [isDropped, written] = await Promise.all([
      store.dropModel(resource, { ifEmpty: true }),
      other.write(createOf(model, sampleObject('b'))).catch((error: unknown) => error),
    ]);
    if (isDropped) expect(written).toMatchObject({ code: 'ModelNotFound' });
    else expect(await store.get(resource, { namespace: '', name: 'b' })).toEqual(written);
    expect(await store.dropModel(resource)).toBe(true);
    expect(await store.dropModel(resource, { ifEmpty: true })).toBe(true);
  });

  test('a replica that knew a model before it was recreated finds its current incarnation', async () => {
    const { store, other } = pair();
    const model = sampleModel('reborn');
    await store.ensureModel(model);
    await other.write(createOf(model, sampleObject('a')));
    const first = await other.changes.incarnationOf(resourceOf(model));
    const before = await store.changes.catchUp();
    await store.dropModel(resourceOf(model));
    expect(await other.changes.incarnationOf(resourceOf(model))).toBeUndefined();
    await store.ensureModel(model);
    const second = await other.changes.incarnationOf(resourceOf(model));
    expect(first).toMatchObject({ replaces: 0 });
    expect(second!.modelId).toBeGreaterThan(first!.modelId);
    expect(second!.replaces).toBeGreaterThanOrEqual(before);
    expect(await store.changes.incarnationOf(resourceOf(model))).toEqual(second);
    await expect(store.changes.read(resourceOf(model), before - 1)).rejects.toMatchObject({ code: 'Compacted' });
    const position = { namespace: '', name: 'a', revision: before - 1, keys: [], served: 1 };
    await expect(
      store.chunk(resourceOf(model), { selector: { labels: [], fields: [] }, sort: [], limit: 1, after: position }),
    ).rejects.toMatchObject({ code: 'Compacted' });
  });

  test('a replica that knows a column by a removed index does not use it for another index', async () => {
    const { store, other } = pair();
    const first = sampleModel('renamed', { indexes: [widgetIndexes.owner] });
    const second = sampleModel('renamed', { indexes: [widgetIndexes.slug] });
    await store.ensureModel(first);
    await store.write(createOf(first, sampleObject('a', { spec: { owner: 'x', slug: 's' } })));
    expect((await other.page(resourceOf(first), queryFor(first, 'spec.owner=x'))).total).toBe(1);
    await store.ensureModel(sampleModel('renamed', { indexes: [] }));
    await store.ensureModel(second);
    await ready(store, second);
    const answer = await other
      .page(resourceOf(first), queryFor(first, 'spec.owner=x'))
      .catch((error: unknown) => error);
    expect(answer).toMatchObject({ code: 'IndexNotReady' });
  });

  test('a model is dropped at once, even during a long list', async () => {
    const { store, other } = pair();
    const model = sampleModel('readlong', { indexes: [] });
    const otherModel = sampleModel('bystander', { indexes: [] });
    await store.ensureModel(model);
    await store.ensureModel(otherModel);
    await Promise.all(Array.from({ length: 150 }, (_, i) => store.write(createOf(model, sampleObject(`o-${i}`)))));
    const stream = await other.stream(resourceOf(model), {
      selector: { labels: [], fields: [] },
      sort: [],
      order: 'sort',
    });
    const dropping = store.dropModel(resourceOf(model));
    await eventually(
      () => other.changes.incarnationOf(resourceOf(model)),
      (incarnation) => incarnation === undefined,
    );
    await store.write(createOf(otherModel, sampleObject('served')));
    await store.ensureModel(model);
    let read = 0;
    for await (const batch of stream.objects) read += batch.length;
    expect(read).toBe(150);
    await dropping;
  });

  test('an index added to existing data is built in the background and then covers all of it', async () => {
    const { store, other } = pair();
    const before = sampleModel('grown', { indexes: [widgetIndexes.slug] });
    const after = sampleModel('grown', { indexes: [widgetIndexes.slug, widgetIndexes.owner, widgetIndexes.tags] });
    await store.ensureModel(before);
    await Promise.all(
      Array.from({ length: 450 }, (_, i) =>
        store.write(
          createOf(before, sampleObject(`o-${i}`, { spec: { owner: `u${i % 3}`, tags: ['t', `t${i % 2}`] } })),
        ),
      ),
    );
    await other.ensureModel(after);
    // Written by the replica that does not know the index: the shape check makes it reload.
    await store.write(createOf(after, sampleObject('late', { spec: { owner: 'u0', tags: ['t1'] } })));
    await ready(store, after);
    expect(await store.indexStates(resourceOf(after))).toEqual(
      ['spec.slug', 'spec.owner', 'spec.tags'].map((name) => ({ name, state: 'ready' })),
    );
    for (const replica of [store, other]) {
      expect((await replica.page(resourceOf(after), queryFor(after, 'spec.owner=u0'))).total).toBe(151);
      expect((await replica.page(resourceOf(after), queryFor(after, 'spec.tags=t1'))).total).toBe(226);
    }
  });

  test('objects written while an index is built are in it', async () => {
    const { store, other } = pair();
    const before = sampleModel('busy', { indexes: [] });
    const after = sampleModel('busy', { indexes: [widgetIndexes.rank] });
    await store.ensureModel(before);
    await Promise.all(
      Array.from({ length: 300 }, (_, i) =>
        store.write(createOf(before, sampleObject(`o-${i}`, { spec: { rank: 1 } }))),
      ),
    );
    const writing = (async () => {
      for (let i = 0; i < 60; i += 1) {
        const from = (await other.get(resourceOf(after), { namespace: '', name: `o-${i}` }))!;
        const object = { ...decodeBody(from.body, from.revision), spec: { rank: 2 } };
        await other.write({ type: 'update', resource: resourceOf(after), object, fingerprint: 'f1', from });
      }
    })();
    await store.ensureModel(after);
    await writing;
    await ready(other, after);
    expect((await store.page(resourceOf(after), queryFor(after, 'spec.rank=2'))).total).toBe(60);
    expect((await other.page(resourceOf(after), queryFor(after, 'spec.rank=1'))).total).toBe(240);
  });

  test('a unique index that existing data violates fails with the reason, and writes still work', async () => {
    const { store } = pair();
    const before = sampleModel('twins', { indexes: [] });
    const after = sampleModel('twins', { indexes: [widgetIndexes.slug] });
    await store.ensureModel(before);
    for (const name of ['a', 'b']) await store.write(createOf(before, sampleObject(name, { spec: { slug: 'same' } })));
    await store.ensureModel(after);
    await ready(store, after);
    expect(await store.indexStates(resourceOf(after))).toEqual([
      { name: 'spec.slug', state: 'failed', message: 'several objects have the same value' },
    ]);
    await expect(store.page(resourceOf(after), queryFor(after, 'spec.slug=same'))).rejects.toMatchObject({
      code: 'IndexNotReady',
      index: 'spec.slug',
    });
    await store.write(createOf(after, sampleObject('c', { spec: { slug: 'other' } })));
  });

  test('an index that is no longer declared is dropped, and its name may be used for another', async () => {
    const { store } = pair();
    const first = sampleModel('shrunk', { indexes: [widgetIndexes.slug] });
    await store.ensureModel(first);
    await store.write(createOf(first, sampleObject('a', { spec: { slug: 'x' } })));
    await store.ensureModel(sampleModel('shrunk', { indexes: [] }));
    expect(await store.indexStates(resourceOf(first))).toEqual([]);
    const again = sampleModel('shrunk', { indexes: [{ ...widgetIndexes.slug, unique: false }] });
    await store.ensureModel(again);
    await ready(store, again);
    await store.write(createOf(again, sampleObject('b', { spec: { slug: 'x' } })));
    expect((await store.page(resourceOf(again), queryFor(again, 'spec.slug=x'))).total).toBe(2);
  });
}
