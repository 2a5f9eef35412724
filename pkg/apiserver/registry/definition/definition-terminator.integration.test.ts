import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { ApiClient, pollUntil } from '../registrytest/api-client.ts';
import { startReplicas, type ReplicaPair } from '../registrytest/replica-pair.ts';
import { sampleDefinition } from '../registrytest/sample-objects.ts';

let pair: ReplicaPair;
let definitions: ApiClient;

beforeAll(async () => {
  pair = await startReplicas();
  definitions = ApiClient.of(pair.one.registry, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
});
afterAll(() => pair?.close());

async function define(group: string, objects: Readonly<Record<string, string[]>>): Promise<ApiClient> {
  await definitions.create(sampleDefinition({ group, plural: 'things', kind: 'Thing' }));
  const client = ApiClient.of(pair.one.registry, group, 'v1', 'things');
  const create = (name: string, finalizers: string[]): Promise<unknown> =>
    client.create({ apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name, finalizers }, spec: { title: 'T' } });
  await Promise.all(Object.entries(objects).map(([name, finalizers]) => create(name, finalizers)));
  return client;
}

async function terminating(name: string): Promise<string> {
  const { conditions } = (await definitions.get(name)).status as unknown as {
    conditions: { type: string; reason: string; message: string }[];
  };
  const found = conditions.find(({ type }) => type === 'Terminating');
  return `${found?.reason}: ${found?.message}`;
}

test('the condition counts all objects, and the finalizers of the first 500', async () => {
  const names = Array.from({ length: 503 }, (_, i) => `held-${String(i).padStart(3, '0')}`);
  await define('many.example.com', Object.fromEntries(names.map((name) => [name, ['example.com/hold']])));
  await definitions.delete('things.many.example.com');
  const wanted =
    'InstanceDeletionInProgress: 503 objects left; finalizers of the first 500: example.com/hold in 500 objects';
  await pollUntil(async () => (await terminating('things.many.example.com')) === wanted);
});

test('the condition names the most frequent finalizers', async () => {
  const rare = Array.from({ length: 12 }, (_, i) => `example.com/rare-${String(i).padStart(2, '0')}`);
  await define('various.example.com', { a: [...rare, 'example.com/often'], b: ['example.com/often'] });
  await definitions.delete('things.various.example.com');
  const named = rare
    .slice(0, 9)
    .map((finalizer) => `${finalizer} in 1 object`)
    .join(', ');
  const wanted = `InstanceDeletionInProgress: 2 objects left; finalizers: example.com/often in 2 objects, ${named}, 3 more`;
  await pollUntil(async () => (await terminating('things.various.example.com')) === wanted);
});

test('the condition says that objects cannot be deleted, and the deletion is retried', async () => {
  await define('stuck.example.com', { free: [] });
  const database = await Database.connect({ connection: pair.connection, log: silentLog });
  try {
    const { rows } = await database.pool.query<{ id: number }>(
      "SELECT id FROM platform.models WHERE api_group = 'stuck.example.com'",
    );
    const table = `platform.m_${rows[0]!.id}`;
    await database.pool.query(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$",
    );
    await database.pool.query(`CREATE TRIGGER refuse BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse()`);
    await definitions.delete('things.stuck.example.com');
    await pollUntil(async () =>
      (await terminating('things.stuck.example.com')).startsWith(
        'InstanceDeletionFailed: could not delete all objects: ',
      ),
    );
    expect(await ApiClient.of(pair.two.registry, 'stuck.example.com', 'v1', 'things').names()).toEqual(['free']);
    await database.pool.query(`DROP TRIGGER refuse ON ${table}`);
    await pollUntil(
      async () => (await pair.two.registry.findNewest('stuck.example.com', 'v1', 'things')) === undefined,
    );
  } finally {
    await database.close();
  }
});
