import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { ApiClient, pollUntil, writing } from '../registrytest/api-client.ts';
import { startReplicas, type ReplicaPair } from '../registrytest/replica-pair.ts';
import { postDefinition, samplePost } from '../registrytest/sample-objects.ts';

/** Another replica may hear of a write before the test goes on; most of the times it does not. */
const repetitions = 10;
const times = Array.from({ length: repetitions }, (_, i) => i);

let pair: ReplicaPair;
let one: ApiClient;
let two: ApiClient;
/** How many objects the first replica has read from the database. */
let reads = 0;

beforeAll(async () => {
  pair = await startReplicas();
  await ApiClient.of(pair.one.registry, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions').create(
    postDefinition,
  );
  await pair.two.store.changes.catchUp();
  await pollUntil(async () => pair.two.registry.find('blog.example.com', 'v1', 'posts') !== undefined);
  [one, two] = [pair.one, pair.two].map(({ registry }) =>
    ApiClient.of(registry, 'blog.example.com', 'v1', 'posts'),
  ) as [ApiClient, ApiClient];
  const { store } = pair.one;
  const get = store.get.bind(store);
  store.get = (...request) => {
    reads += 1;
    return get(...request);
  };
});

afterAll(() => pair?.close());

const titled = (name: string, title: string, metadata: JsonObject = {}): JsonObject =>
  samplePost(name, { title }, metadata);

test('an object that changed a moment ago is written without a read, wherever it was written', async () => {
  const created = await one.create(titled('known', 'a'));
  reads = 0;
  const updated = await one.put(titled('known', 'b', { resourceVersion: created.metadata.resourceVersion! }));
  await one.patch('known', (object) => ((object['spec'] as JsonObject)['title'] = 'c'));
  await two.patch('known', (object) => ((object['spec'] as JsonObject)['priority'] = 7));
  await pair.one.store.changes.catchUp();
  await one.patch('known', ({ metadata }) => (metadata.labels = { a: 'b' }));
  expect(reads).toBe(0);
  expect(updated.metadata.uid).toBe(created.metadata.uid);
  expect(await two.get('known')).toMatchObject({ metadata: { labels: { a: 'b' } }, spec: { title: 'c', priority: 7 } });
  expect(await one.delete('known')).toMatchObject({ deleted: true, object: { spec: { title: 'c' } } });
  expect(reads).toBe(0);
});

test('a dry run, and what changes nothing, are answered with the stored object', async () => {
  await one.create(titled('same', 'a'));
  reads = 0;
  await one.put(titled('same', 'a'));
  await one.put(titled('same', 'b'), writing({ dryRun: true }));
  expect(reads).toBe(2);
  await one.delete('same');
});

test.each(times)('what another replica wrote is neither lost nor refused (%i)', async (i) => {
  const name = `shared-${i}`;
  await one.create(titled(name, 'a'));
  await pair.two.store.changes.catchUp();
  const second = await two.put(titled(name, 'b'));
  // Of the object that this replica knows this would be no change.
  const third = await one.put(titled(name, 'a'));
  expect(third.metadata.generation).toBe(3);
  const fourth = await two.put(titled(name, 'd', { resourceVersion: third.metadata.resourceVersion! }));
  const fifth = await one.put(titled(name, 'e', { resourceVersion: fourth.metadata.resourceVersion! }));
  await expect(one.put(titled(name, 'f', { resourceVersion: second.metadata.resourceVersion! }))).rejects.toMatchObject(
    {
      code: 409,
    },
  );
  await two.patch(name, (object) => ((object['spec'] as JsonObject)['tags'] = ['two']));
  await one.patch(name, (object) => ((object['spec'] as JsonObject)['priority'] = 1));
  expect(await two.get(name)).toMatchObject({
    metadata: { uid: fifth.metadata.uid, generation: 7 },
    spec: { title: 'e', tags: ['two'], priority: 1 },
  });
  await two.delete(name);
  await expect(one.put(titled(name, 'g'))).rejects.toMatchObject({ code: 404 });
  const again = await two.create(titled(name, 'h'));
  await two.delete(name);
  await expect(one.delete(name)).rejects.toMatchObject({ code: 404 });
  expect(again.metadata.uid).not.toBe(fifth.metadata.uid);
});

test('writers of one object on two replicas lose no count', async () => {
  await one.create(samplePost('counted', { priority: 0 }));
  const add = (client: ApiClient): Promise<unknown> =>
    client.patch('counted', ({ spec }) => ((spec as { priority: number }).priority += 1));
  await pair.two.store.changes.catchUp();
  for (let round = 0; round < 5; round += 1)
    await Promise.all([one, two, one, two, one, two].map((client) => add(client)));
  expect(await one.get('counted')).toMatchObject({ spec: { priority: 30 } });
});
