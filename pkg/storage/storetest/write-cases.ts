import { beforeAll, expect, test } from '@jest/globals';
import type { StoredObject, Write } from '../store.ts';
import type { StorePair } from './store-pair.ts';
import {
  createOf,
  deleteOf as deleteOfSample,
  resourceOf,
  sampleModel,
  sampleObject,
  updateOf as updateOfSample,
} from './sample-model.ts';

const model = sampleModel('written');
const resource = resourceOf(model);
const namespaced = sampleModel('writtenspaced', { namespaced: true });

const updateOf = (from: StoredObject, spec: Record<string, string>): Write => updateOfSample(model, from, spec);
const deleteOf = (from: StoredObject): Write => deleteOfSample(model, from);

export function storeWriteCases(pair: () => StorePair): void {
  beforeAll(async () => {
    await pair().store.ensureModel(model);
    await pair().store.ensureModel(namespaced);
  });

  test('a created object can be read on both replicas, byte for byte', async () => {
    const { store, other } = pair();
    const created = await store.write(
      createOf(model, sampleObject('first', { spec: { text: 'Grüße "\\" \u{1f600}\n' } })),
    );
    expect(created.revision).toBeGreaterThan(0);
    expect(await store.get(resource, { namespace: '', name: 'first' })).toEqual(created);
    expect(await other.get(resource, { namespace: '', name: 'first' })).toEqual(created);
    expect(await store.get(resource, { namespace: '', name: 'absent' })).toBeUndefined();
  });

  test('concurrent reads each have their own answer', async () => {
    const { store } = pair();
    const created = await Promise.all(
      Array.from({ length: 300 }, (_, i) => store.write(createOf(model, sampleObject(`together-${i}`)))),
    );
    const names = [...created.map(({ name }) => name), 'together-absent', created[0]!.name];
    const read = await Promise.all(names.map((name) => store.get(resource, { namespace: '', name })));
    expect(read).toEqual([...created, undefined, created[0]]);
  });

  test('a name is unique', async () => {
    const { store, other } = pair();
    const outcomes = await Promise.allSettled(
      [store, other, store, other].map((replica) => replica.write(createOf(model, sampleObject('once')))),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'AlreadyExists' });
  });

  test('revisions grow with every write', async () => {
    const { store, other } = pair();
    let from = await store.write(createOf(model, sampleObject('grows')));
    for (let i = 0; i < 10; i += 1) {
      const next = await (i % 2 === 0 ? other : store).write(updateOf(from, { step: String(i) }));
      expect(next.revision).toBeGreaterThan(from.revision);
      from = next;
    }
  });

  test('an update or a delete of a changed object is a conflict, of a deleted object it is not found', async () => {
    const { store, other } = pair();
    const first = await store.write(createOf(model, sampleObject('contested')));
    const second = await other.write(updateOf(first, { by: 'other' }));
    await expect(store.write(updateOf(first, { by: 'store' }))).rejects.toMatchObject({ code: 'Conflict' });
    await expect(store.write(deleteOf(first))).rejects.toMatchObject({ code: 'Conflict' });
    await store.write(deleteOf(second));
    await expect(other.write(updateOf(second, {}))).rejects.toMatchObject({ code: 'NotFound' });
    await expect(other.write(deleteOf(second))).rejects.toMatchObject({ code: 'NotFound' });
  });

  test('of many updates from one revision exactly one succeeds', async () => {
    const { store, other } = pair();
    const from = await store.write(createOf(model, sampleObject('raced')));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? store : other).write(updateOf(from, { i: String(i) }))),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a unique value is held once and is free after its holder is deleted; absent values never conflict', async () => {
    const { store, other } = pair();
    const holder = await store.write(createOf(model, sampleObject('holder', { spec: { slug: 'taken' } })));
    const clash = { code: 'UniqueClash', index: 'spec.slug' };
    await expect(
      other.write(createOf(model, sampleObject('second', { spec: { slug: 'taken' } }))),
    ).rejects.toMatchObject(clash);
    const second = await other.write(createOf(model, sampleObject('second')));
    await store.write(createOf(model, sampleObject('third')));
    await expect(other.write(updateOf(second, { slug: 'taken' }))).rejects.toMatchObject(clash);
    await store.write(deleteOf(holder));
    await other.write(updateOf(second, { slug: 'taken' }));
  });

  test('two objects that swap a unique value fail, and nothing changes', async () => {
    const { store } = pair();
    const [a, b] = await Promise.all(
      ['a', 'b'].map((name) =>
        store.write(createOf(model, sampleObject(`swap-${name}`, { spec: { slug: `swap-${name}` } }))),
      ),
    );
    const outcomes = await Promise.allSettled([
      store.write(updateOf(a!, { slug: 'swap-b' })),
      store.write(updateOf(b!, { slug: 'swap-a' })),
    ]);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'UniqueClash' } });
  });

  test('writes of one batch never fail each other', async () => {
    const { store } = pair();
    const from = await store.write(createOf(model, sampleObject('stale')));
    const newest = await store.write(updateOf(from, { fresh: 'yes' }));
    await store.write(createOf(model, sampleObject('slugged', { spec: { slug: 'neighbour' } })));
    const good = Array.from({ length: 20 }, (_, i) => createOf(model, sampleObject(`good-${i}`)));
    const bad = [
      createOf(model, sampleObject('stale')),
      updateOf(from, { late: 'yes' }),
      createOf(model, sampleObject('other-slug', { spec: { slug: 'neighbour' } })),
      updateOf(newest, { slug: 'neighbour' }),
    ];
    const outcomes = await Promise.allSettled([...bad, ...good].map((write) => store.write(write)));
    expect(
      outcomes
        .slice(0, 4)
        .map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as { code: string }).code : 'done')),
    ).toEqual(['AlreadyExists', 'Conflict', 'UniqueClash', 'UniqueClash']);
    expect(outcomes.slice(4).every(({ status }) => status === 'fulfilled')).toBe(true);
  });

  test('a value that its index cannot hold is refused with the field', async () => {
    const { store } = pair();
    await expect(store.write(createOf(model, sampleObject('wrong', { spec: { rank: 'high' } })))).rejects.toMatchObject(
      { code: 'InvalidKey', causes: [{ field: 'spec.rank' }] },
    );
    await expect(
      store.write(createOf(model, sampleObject('long', { spec: { owner: 'x'.repeat(2000) } }))),
    ).rejects.toMatchObject({ code: 'InvalidKey' });
  });

  test('a dry run has the outcome of the write, and writes nothing', async () => {
    const { store } = pair();
    const held = await store.write(createOf(model, sampleObject('dry', { spec: { slug: 'dry' } })));
    const dryRun = { dryRun: true };
    await expect(store.write(createOf(model, sampleObject('dry')), dryRun)).rejects.toMatchObject({
      code: 'AlreadyExists',
    });
    await expect(
      store.write(createOf(model, sampleObject('dry-2', { spec: { slug: 'dry' } })), dryRun),
    ).rejects.toMatchObject({ code: 'UniqueClash' });
    await expect(store.write(updateOf({ ...held, revision: 1 }, {}), dryRun)).rejects.toMatchObject({
      code: 'Conflict',
    });
    const namesake = await store.write(createOf(model, sampleObject('dry-space')));
    await store.write(createOf(namespaced, sampleObject('dry', { namespace: 'dry-space' })));
    await store.write(deleteOf(namesake), dryRun);
    const before = await store.changes.catchUp();
    await store.write(createOf(model, sampleObject('dry-3')), dryRun);
    await store.write(deleteOf(held), dryRun);
    expect(await store.changes.catchUp()).toBe(before);
    expect(await store.get(resource, { namespace: '', name: 'dry-3' })).toBeUndefined();
  });

  test('the same name may exist in several namespaces', async () => {
    const { store } = pair();
    for (const namespace of ['red', 'blue'])
      await store.write(createOf(namespaced, sampleObject('same', { namespace })));
    await expect(store.write(createOf(namespaced, sampleObject('same', { namespace: 'red' })))).rejects.toMatchObject({
      code: 'AlreadyExists',
    });
    expect(await store.get(resourceOf(namespaced), { namespace: 'blue', name: 'same' })).toMatchObject({
      namespace: 'blue',
      name: 'same',
    });
  });
}
