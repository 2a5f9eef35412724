import { beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiObject, JsonObject } from '#pkg/apimachinery/index';
import { decodeBody } from '../body.ts';
import type { IdempotencyKey, ObjectStream, Store, StoredObject, StoreWriteOptions, Write } from '../store.ts';
import { createOf, deleteOf, resourceOf, sampleModel, sampleObject, updateOf } from './sample-model.ts';
import type { StorePair } from './store-pair.ts';

const model = sampleModel('managed', { namespaced: true, indexes: [] });
const company = sampleModel('managedcompany', { indexes: [] });
const resource = resourceOf(model);
const everything = { selector: { labels: [], fields: [] }, sort: [] };

const entryOf = (manager: string): JsonObject => ({
  manager,
  operation: 'Update',
  apiVersion: 'store.example.com/v1',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:spec': { '.': {}, 'f:text': {} } },
});
const textOf = (...managers: string[]): string => JSON.stringify(managers.map(entryOf));

/** The ways to send a write: alone, or together with another one, which uses the general statement. */
const ways: Record<string, (store: Store, write: Write, options?: StoreWriteOptions) => Promise<StoredObject>> = {
  alone: (store, write, options) => store.write(write, options),
  'in company': async (store, write, options) => {
    const [outcome] = await Promise.all([
      store.write(write, options),
      store.write(createOf(company, sampleObject(`company-${Math.random()}`, { managedFields: [entryOf('company')] }))),
    ]);
    return outcome;
  },
};

/** The update that gives an object these managers. */
function managedBy(from: StoredObject, ...managers: string[]): Write {
  const write = updateOf(model, from, {});
  write.object.metadata.managedFields = managers.map(entryOf);
  return write;
}

async function objectsOf({ objects }: ObjectStream): Promise<StoredObject[]> {
  const all: StoredObject[] = [];
  for await (const batch of objects) all.push(...batch);
  return all;
}

export function managedCases(pair: () => StorePair): void {
  beforeAll(async () => {
    await pair().store.ensureModel(model);
    await pair().store.ensureModel(company);
  });

  let made = 0;
  const newNamespace = (): string => `managed-${(made += 1)}`;
  const object = (namespace: string, name: string, ...managers: string[]): ApiObject =>
    sampleObject(name, { namespace, ...(managers.length === 0 ? {} : { managedFields: managers.map(entryOf) }) });
  const keyOf = (key: string): IdempotencyKey => ({ user: 'u', method: 'PUT', path: '/managed', key, bodyHash: 'h' });

  describe.each(Object.keys(ways))('%s', (way) => {
    const run = ways[way]!;

    test('they are stored apart from the body, and every read has them', async () => {
      const { store, other } = pair();
      const namespace = newNamespace();
      const a = await run(store, createOf(model, object(namespace, 'a', 'first')));
      const b = await run(store, createOf(model, object(namespace, 'b')));
      expect(a.managed).toBe(textOf('first'));
      expect(b.managed).toBe('');
      expect(a.body).not.toContain('managedFields');
      expect(decodeBody(a.body, a.revision, a.managed).metadata.managedFields).toEqual([entryOf('first')]);
      const all = [a, b];
      expect(await Promise.all(all.map((each) => other.get(resource, each)))).toEqual(all);
      expect(await other.get(resource, a)).toEqual(a);
      const page = { page: 1, size: 10, exactTotal: true, exactTotalLimit: 100 };
      expect((await other.page(resource, { ...everything, namespace, ...page })).items).toEqual(all);
      expect((await other.chunk(resource, { ...everything, namespace, limit: 10 })).items).toEqual(all);
      const stream = await other.stream(resource, { ...everything, namespace, order: 'sort' });
      expect(await objectsOf(stream)).toEqual(all);
    });

    test('a change has those of both sides, in memory and in the log', async () => {
      const { store, other } = pair();
      const start = await store.changes.catchUp();
      const created = await run(store, createOf(model, object(newNamespace(), 'a', 'first')));
      const updated = await run(store, managedBy(created, 'first', 'second'));
      const cleared = await run(store, managedBy(updated));
      const gone = await run(store, deleteOf(model, await run(store, managedBy(cleared, 'last'))));
      for (const { changes } of [store, other]) {
        await changes.catchUp();
        const read = await changes.read(resource, start);
        expect(read.changes.map(({ managed }) => managed)).toEqual([
          textOf('first'),
          textOf('first', 'second'),
          '',
          textOf('last'),
          textOf('last'),
        ]);
        expect(read.changes.map(({ old }) => old?.managed)).toEqual([
          undefined,
          textOf('first'),
          textOf('first', 'second'),
          '',
          textOf('last'),
        ]);
      }
      expect(gone.managed).toBe(textOf('last'));
    });

    test('a list in chunks has those of its revision', async () => {
      const { store } = pair();
      const namespace = newNamespace();
      await run(store, createOf(model, object(namespace, 'a', 'first')));
      const b = await run(store, createOf(model, object(namespace, 'b', 'first')));
      const first = await store.chunk(resource, { ...everything, namespace, limit: 1 });
      await run(store, managedBy(b, 'second'));
      const second = await store.chunk(resource, { ...everything, namespace, limit: 1, after: first.next! });
      expect(second.items).toEqual([b]);
    });

    test('an idempotency key keeps those of its outcome', async () => {
      const { store, other } = pair();
      const namespace = newNamespace();
      const written = keyOf(`${namespace}-written`);
      const unchanged = keyOf(`${namespace}-unchanged`);
      const a = await run(store, createOf(model, object(namespace, 'a', 'first')), { idempotency: written });
      await store.rememberUnchanged(unchanged, a);
      await run(store, managedBy(a, 'second'));
      expect((await other.findRememberedWrite(written))?.object).toEqual(a);
      expect((await other.findRememberedWrite(unchanged))?.object).toEqual(a);
    });
  });

  test('memory is reserved for them, and a list of large ones is whole', async () => {
    const { store } = pair();
    const namespace = newNamespace();
    const asked: number[] = [];
    const readBudget = {
      owner: 'u',
      admit: async (bytes: number) => void asked.push(bytes),
      reportHeld: () => undefined,
    };
    const managers = Array.from({ length: 1000 }, (_, i) => `manager-${i}`);
    const size = textOf(...managers).length;
    const written = await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => store.write(createOf(model, object(namespace, name, ...managers)))),
    );
    expect(await store.get(resource, written[0]!, readBudget)).toEqual(written[0]);
    expect(asked[0]).toBeGreaterThan(size);
    const stream = await store.stream(resource, { ...everything, namespace, order: 'sort', readBudget });
    expect(await objectsOf(stream)).toEqual(written);
    const page = { page: 1, size: 10, exactTotal: true, exactTotalLimit: 100 };
    expect((await store.page(resource, { ...everything, namespace, ...page })).items).toEqual(written);
  });
}
