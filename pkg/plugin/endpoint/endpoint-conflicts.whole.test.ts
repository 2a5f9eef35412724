import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from '#pkg/apimachinery/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { condition, enable, inPhase, TestPluginHost } from '../host/start-test-host.ts';
import { manifest, TestFolder } from '../host/test-folder.ts';

let env: TestEnv;
let client: Client;
let folder: TestFolder;
let host: TestPluginHost;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  folder = await TestFolder.make();
  host = new TestPluginHost(client, folder);
});
afterAll(async () => {
  await host.stop();
  await env.stop();
  await folder.clear();
});

function write(name: string): Promise<void> {
  const module = `
    import { defineEndpoint, definePlugin } from '@svc/sdk';
    export default definePlugin({ endpoints: [defineEndpoint({ audience: 'uc', group: 'shared.example.com', version: 'v1', method: 'GET', path: '/a', handler: async () => 1 })] });
  `;
  return folder.write(name, { 'plugin.yaml': manifest({ name, enabled: true }), 'index.mjs': module });
}

test('a plugin with a path of another does not start before the other has stopped', async () => {
  await write('first');
  await inPhase(client, 'first', 'Started');
  await write('another');
  const failed = await inPhase(client, 'another', 'Failed');
  expect(condition(failed, 'Healthy')).toBe('False EndpointConflict');
  expect(failed.status!.conditions!.find(({ type }) => type === 'Healthy')!.message).toBe(
    'GET /apis/uc.api.shared.example.com/v1/a is mounted by the plugin first already',
  );
  expect(failed.status!.endpoints ?? []).toEqual([]);
  await enable(client, 'first', false);
  await inPhase(client, 'another', 'Started');
});
