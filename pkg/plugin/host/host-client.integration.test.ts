import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newServiceUnavailable, type Client } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';
import { pluginType } from '#pkg/apis/index';
import { silentLog } from '#pkg/database/index';
import { Cache, CachedClient } from '#pkg/runtime/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { fencedClient, freshClient } from './host-client.ts';
import { pluginKey } from './record/plugin-record.ts';

let env: TestEnv;
let client: Client;

beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
});
afterAll(() => env?.stop());

test('reads current state, and writes with the fence', async () => {
  // It lists, and hears of nothing afterwards.
  const late = wrapClient(client, {
    watch: (_type, { signal }) =>
      new Promise((_resolve, reject) =>
        signal?.addEventListener('abort', () => reject(newServiceUnavailable('stopped'))),
      ),
  });
  const cache = new Cache({ client: late, log: { ...silentLog, debug: () => undefined } });
  const informer = cache.informerFor(pluginType);
  cache.start();
  await informer.waitForSync(AbortSignal.timeout(10_000));
  const cached = new CachedClient({
    client,
    cache,
    fence: () => ({ namespace: 'default', lease: 'nobody-holds', transitions: 1 }),
  });
  const fresh = freshClient(cached, client);
  const plugin = {
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name: 'new' },
    spec: { version: '1.0.0' },
  };
  await client.create(pluginType, plugin);
  await expect(cached.get(pluginType, pluginKey('new'))).rejects.toMatchObject({ reason: 'NotFound' });
  expect([
    (await fresh.get(pluginType, pluginKey('new'))).metadata.name,
    (await fresh.list(pluginType)).items.length,
  ]).toEqual(['new', 1]);
  await expect(fresh.delete(pluginType, pluginKey('new'))).rejects.toMatchObject({ code: 409 });
  await cache.stop();
});

test("a plugin's client reads current state, and its writes have the fence", async () => {
  const plugin = {
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name: 'fenced' },
    spec: { version: '1.0.0' },
  };
  const { resourceVersion } = await client.list(pluginType);
  const stored = await client.create(pluginType, plugin);
  const fenced = fencedClient(client, { namespace: 'default', lease: 'nobody-holds', transitions: 1 });
  const writes = [
    () => fenced.create(pluginType, { ...plugin, metadata: { name: 'other' } }),
    () => fenced.update(pluginType, { ...stored, spec: { version: '2.0.0' } }),
    () =>
      fenced.patch(
        pluginType,
        pluginKey('fenced'),
        { type: 'merge', patch: { spec: { version: '2.0.0' } } },
        { fieldValidation: 'Strict' },
      ),
    () => fenced.updateStatus(pluginType, { ...stored, status: { version: '2.0.0' } }),
    () =>
      fenced.patchStatus(pluginType, pluginKey('fenced'), { type: 'merge', patch: { status: { version: '2.0.0' } } }),
    () => fenced.delete(pluginType, pluginKey('fenced')),
  ];
  for (const write of writes) await expect(write()).rejects.toMatchObject({ code: 409 });
  expect(await fenced.get(pluginType, pluginKey('fenced'))).toEqual(stored);
  expect((await fenced.list(pluginType, { fieldSelector: 'metadata.name=fenced' })).items).toEqual([stored]);
  for await (const event of await fenced.watch(pluginType, { resourceVersion })) {
    expect(event).toEqual({ type: 'ADDED', object: stored });
    break;
  }
  expect(fencedClient(client, undefined)).toBe(client);
});
