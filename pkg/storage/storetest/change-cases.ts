import { beforeAll, expect, test } from '@jest/globals';
import { newTooManyRequests } from '#pkg/apimachinery/index';
import type { Change } from '../change.ts';
import { decodeBody } from '../body.ts';
import type { Store } from '../store.ts';
import type { StorePair } from './store-pair.ts';
import { createOf, deleteOf, resourceOf, sampleModel, sampleObject, updateOf } from './sample-model.ts';

const model = sampleModel('changing', { indexes: [] });
const resource = resourceOf(model);

/** Records all changes that a listener receives, and checks their order. */
function record(store: Store): { changes: Change[]; stop: () => void } {
  const changes: Change[] = [];
  let last = store.changes.cursor;
  const stop = store.changes.subscribe((newChanges, cursor) => {
    for (const change of newChanges) {
      expect(change.revision).toBeGreaterThan(last);
      last = change.revision;
    }
    expect(cursor).toBeGreaterThanOrEqual(last);
    last = cursor;
    changes.push(...newChanges);
  });
  return { changes, stop };
}

/** Creates, updates repeatedly, and deletes one object; returns its revisions. */
async function live(store: Store, name: string, updates: number): Promise<number[]> {
  let stored = await store.write(createOf(model, sampleObject(name)));
  const revisions = [stored.revision];
  for (let i = 0; i < updates; i += 1) {
    const object = { ...decodeBody(stored.body, stored.revision), spec: { i } };
    stored = await store.write({ type: 'update', resource, object, fingerprint: 'f1', from: stored });
    revisions.push(stored.revision);
  }
  const last = await store.write({
    type: 'delete',
    resource,
    object: decodeBody(stored.body, stored.revision),
    fingerprint: 'f1',
    from: stored,
  });
  return [...revisions, last.revision];
}

export function changeCases(pair: () => StorePair): void {
  beforeAll(() => pair().store.ensureModel(model));

  test('every write of both replicas is delivered once, in order, on both', async () => {
    const { store, other } = pair();
    await Promise.all([store.changes.catchUp(), other.changes.catchUp()]);
    const [mine, theirs] = [record(store), record(other)];
    const written = (
      await Promise.all(Array.from({ length: 32 }, (_, i) => live(i % 2 === 0 ? store : other, `told-${i}`, 10)))
    ).flat();
    await Promise.all([store.changes.catchUp(), other.changes.catchUp()]);
    const expected = written.toSorted((a, b) => a - b);
    expect(mine.changes.map(({ revision }) => revision)).toEqual(expected);
    expect(theirs.changes).toEqual(mine.changes);
    mine.stop();
    theirs.stop();
  });

  test('a change has the object before and after', async () => {
    const { store } = pair();
    await store.changes.catchUp();
    const { changes, stop } = record(store);
    const [created, updated, deleted] = await live(store, 'story', 1);
    await store.changes.catchUp();
    expect(changes.map(({ type, revision }) => ({ type, revision }))).toEqual([
      { type: 'create', revision: created },
      { type: 'update', revision: updated },
      { type: 'delete', revision: deleted },
    ]);
    expect(changes[0]!.old).toBeUndefined();
    expect(changes[1]!.old).toMatchObject({ revision: created, body: changes[0]!.body });
    expect(changes[2]!.old).toMatchObject({ revision: updated, body: changes[1]!.body });
    stop();
  });

  test('an object that changed is known without a read, on every replica', async () => {
    const { store, other } = pair();
    const key = { namespace: '', name: 'recent' };
    const created = await store.write(createOf(model, sampleObject('recent')));
    await other.changes.catchUp();
    expect(await Promise.all([store, other].map((each) => each.findRecent(resource, key)))).toEqual([created, created]);
    const updated = await other.write(updateOf(model, created, { i: 1 }));
    await store.changes.catchUp();
    expect(await store.findRecent(resource, key)).toEqual(updated);
    await store.write(deleteOf(model, updated));
    expect(await store.findRecent(resource, key)).toBeUndefined();
    expect(await store.findRecent(resource, { namespace: '', name: 'absent' })).toBeUndefined();
  });

  test('history can be read from any revision that is kept', async () => {
    const { store } = pair();
    const start = await store.changes.catchUp();
    const revisions = await live(store, 'history', 5);
    await store.changes.catchUp();
    for (const [i, after] of [start, ...revisions].entries()) {
      const { changes, upTo } = await store.changes.read(resource, after);
      expect(changes.map(({ revision }) => revision)).toEqual(revisions.slice(i));
      expect(upTo).toBeGreaterThanOrEqual(revisions.at(-1)!);
    }
  });

  test('memory is reserved before large history is read, not for small history', async () => {
    const { store } = pair();
    const start = await store.changes.catchUp();
    const asked: number[] = [];
    const readBudget = {
      owner: 'user:a',
      admit: async (bytes: number) => void asked.push(bytes),
      reportHeld: () => undefined,
    };
    await live(store, 'small', 3);
    const after = await store.changes.catchUp();
    expect((await store.changes.read(resource, start, readBudget)).changes).toHaveLength(5);
    expect((await store.changes.read(resource, after, readBudget)).changes).toEqual([]);
    expect(asked).toEqual([]);
    const large = await store.write(createOf(model, sampleObject('large', { spec: { text: 'x'.repeat(100_000) } })));
    await store.changes.catchUp();
    const { changes, upTo } = await store.changes.read(resource, start, readBudget);
    expect(changes).toHaveLength(6);
    expect(changes.at(-1)).toMatchObject({ revision: large.revision, body: large.body });
    expect(upTo).toBeGreaterThanOrEqual(large.revision);
    expect(asked).toEqual([expect.any(Number)]);
    expect(asked[0]).toBeGreaterThan(100_000);
    expect(asked[0]).toBeLessThan(110_000);
    await expect(
      store.changes.read(resource, start, {
        ...readBudget,
        admit: () => Promise.reject(newTooManyRequests('no room')),
      }),
    ).rejects.toMatchObject({ code: 429, message: 'no room' });
  });

  test('large history is read 1 MiB at a time, a larger change alone, and no more memory is reserved', async () => {
    const { store } = pair();
    let after = await store.changes.catchUp();
    const asked: number[] = [];
    const readBudget = {
      owner: 'user:a',
      admit: async (bytes: number) => void asked.push(Math.round(bytes / 100_000)),
      reportHeld: () => undefined,
    };
    const lengths = [600_000, 300_000, 300_000, 2_000_000, 100_000];
    for (const [i, length] of lengths.entries())
      await store.write(createOf(model, sampleObject(`piece-${i}`, { spec: { text: 'x'.repeat(length) } })));
    const newest = await store.changes.catchUp();
    const pieces: string[][] = [];
    while (after < newest) {
      const { changes, upTo } = await store.changes.read(resource, after, readBudget);
      pieces.push(changes.map(({ name }) => name));
      after = upTo;
    }
    expect(pieces).toEqual([['piece-0', 'piece-1'], ['piece-2'], ['piece-3'], ['piece-4']]);
    expect(asked).toEqual([10, 10, 20, 1]);
  });

  test('compaction removes changes beyond the age or size limit, reports it, and keeps the outcomes of idempotency keys', async () => {
    const { store, other } = pair();
    const idempotencyKey = { user: 'u', method: 'POST', path: '/compacted', key: 'k', bodyHash: 'h' };
    await store.write(createOf(model, sampleObject('spared')), { idempotency: idempotencyKey });
    const [first] = await live(store, 'forgotten', 3);
    await store.compact({ minAgeMs: 3_600_000, maxSizeBytes: 1e12, idempotencyKeyAgeMs: 3_600_000 });
    await store.changes.catchUp();
    expect((await store.changes.read(resource, first! - 1)).changes).not.toHaveLength(0);
    await store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 3_600_000 });
    await expect(other.changes.read(resource, first! - 1)).rejects.toMatchObject({ code: 'Compacted' });
    expect(await other.findRememberedWrite(idempotencyKey)).toMatchObject({
      bodyHash: 'h',
      object: { name: 'spared' },
    });
    expect(await store.changes.catchUp()).toBeGreaterThan(first!);
    await live(other, 'afterwards', 1);
  });
}
