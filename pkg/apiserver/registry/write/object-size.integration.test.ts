import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { ApiClient, writing } from '../registrytest/api-client.ts';
import { startReplicas, type ReplicaPair } from '../registrytest/replica-pair.ts';
import { sampleDefinition, sampleVersion } from '../registrytest/sample-objects.ts';

let pair: ReplicaPair;
let things: ApiClient;

beforeAll(async () => {
  pair = await startReplicas();
  const item: JsonObject = { type: 'object', properties: { a: { type: 'string', default: 'z'.repeat(100_000) } } };
  const schema: JsonObject = {
    openAPIV3Schema: { type: 'object', properties: { spec: { type: 'array', items: item }, note: { type: 'string' } } },
  };
  await ApiClient.of(pair.one.registry, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions').create(
    sampleDefinition({
      group: 'size.example.com',
      plural: 'things',
      kind: 'Thing',
      versions: [sampleVersion('v1', { schema, indexes: [] })],
    }),
  );
  things = ApiClient.of(pair.one.registry, 'size.example.com', 'v1', 'things');
});

afterAll(() => pair?.close());

function thing(name: string, count: number, note = ''): JsonObject {
  return {
    apiVersion: 'size.example.com/v1',
    kind: 'Thing',
    metadata: { name },
    spec: Array.from({ length: count }, () => ({})),
    note,
  };
}

test('a small body does not become a large object', async () => {
  await expect(things.create(thing('a', 200))).rejects.toMatchObject({
    code: 413,
    message: expect.stringContaining('the defaults of the schema make the object too large'),
  });
  await expect(things.create(thing('a', 9, 'x'.repeat(3_500_000)))).rejects.toMatchObject({
    code: 413,
    message: 'the object, defaults included, would be larger than 4194304 bytes',
  });
  const { spec } = await things.create(thing('a', 2));
  expect(spec).toHaveLength(2);
  await expect(things.put(thing('a', 200))).rejects.toMatchObject({ code: 413 });
  await expect(things.put(thing('a', 2, 'x'.repeat(4 << 20)))).rejects.toMatchObject({ code: 413 });
  await expect(things.put(thing('a', 2, 'x'.repeat(4 << 20)), writing({ dryRun: true }))).rejects.toMatchObject({
    code: 413,
  });
  expect((await things.put(thing('a', 3))).spec).toHaveLength(3);
});
