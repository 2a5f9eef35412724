import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import type { ReadBudget } from '../../read-budget.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { PostgresStore } from '../postgres-store.ts';

const model = sampleModel('roomy', { indexes: [] });
const limit = 10;
const largeText = 'x'.repeat(300_000);
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
  const objects = ['large', 'small'].flatMap((namespace) =>
    Array.from({ length: 3 }, (_, i) =>
      sampleObject(`o-${i}`, { namespace, spec: { text: namespace === 'large' ? largeText : 'x' } }),
    ),
  );
  await Promise.all(objects.map((object) => store.write(createOf(model, object))));
});

afterAll(async () => {
  await store.close();
  await database.close();
  await testDatabase.drop();
});

/** Reads a list; returns the number of objects found, and the bytes that it requested. */
type List = (namespace: string) => Promise<{ found: number; asked: number[] }>;

function listOf(read: (namespace: string, readBudget: ReadBudget) => Promise<{ items: unknown[] }>): List {
  return async (namespace) => {
    const asked: number[] = [];
    const { items } = await read(namespace, {
      owner: 'user:a',
      admit: async (bytes) => void asked.push(bytes),
      reportHeld: () => undefined,
    });
    return { found: items.length, asked };
  };
}

const query = { selector: { labels: [], fields: [] }, sort: [] };

test.each<[string, List]>([
  [
    'chunks',
    listOf((namespace, readBudget) => store.chunk(resourceOf(model), { ...query, namespace, limit, readBudget })),
  ],
  [
    'pages',
    listOf((namespace, readBudget) =>
      store.page(resourceOf(model), {
        ...query,
        namespace,
        page: 1,
        size: limit,
        exactTotal: false,
        exactTotalLimit: 10,
        readBudget,
      }),
    ),
  ],
])('%s of a namespace reserve memory by the size of its own objects', async (_kind, list) => {
  // The first list is read again once its objects prove to be large; the next one requests memory at once.
  expect(await list('large')).toEqual({ found: 3, asked: [expect.any(Number)] });
  expect(await list('large')).toEqual({ found: 3, asked: [expect.any(Number)] });
  expect(await list('small')).toEqual({ found: 3, asked: [] });
  expect(await list('large')).toEqual({ found: 3, asked: [expect.any(Number)] });
});

test('a continued chunk reserves memory for the changes since its snapshot, and counts those that it returns', async () => {
  const namespace = 'changed';
  const written = await Promise.all(
    Array.from({ length: 4 }, (_, i) =>
      store.write(createOf(model, sampleObject(`o-${i}`, { namespace, spec: { text: largeText } }))),
    ),
  );
  const { next: after } = await store.chunk(resourceOf(model), { ...query, namespace, limit: 1 });
  const resource = resourceOf(model);
  await Promise.all(
    written.map((from, i) =>
      store.write({
        type: 'update',
        resource,
        object: sampleObject(`o-${i}`, { namespace, spec: { text: 'x' } }),
        fingerprint: 'f1',
        from,
      }),
    ),
  );
  const asked: number[] = [];
  const settled: number[] = [];
  const readBudget = {
    owner: 'user:a',
    admit: async (bytes: number) => void asked.push(bytes),
    reportHeld: (bytes: number) => void settled.push(bytes),
  };
  const { items } = await store.chunk(resource, { ...query, namespace, limit, after: after!, readBudget });
  expect(items.map(({ body }) => body.length > largeText.length)).toEqual([true, true, true]);
  // One request for the rows, by the size of earlier ones, and one for their old versions.
  expect(asked).toEqual([expect.any(Number), expect.any(Number)]);
  expect(settled.at(-1)).toBe(items.reduce((sum, { body }) => sum + body.length, 0));
});
