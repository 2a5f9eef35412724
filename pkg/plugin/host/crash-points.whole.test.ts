import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { newServiceUnavailable, type ApiObject, type Client, type ResourceType } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';
import { definitionType, pluginLabel, pluginType } from '#pkg/apis/index';
import { startTestEnv, type TestEnv } from '../../testenv/index.ts';
import { pluginKey } from './record/plugin-record.ts';
import { enable, forgetPlugins, inPhase, TestPluginHost } from './start-test-host.ts';
import { manifest, TestFolder } from './test-folder.ts';

let env: TestEnv;
let client: Client;
let folder: TestFolder;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  folder = await TestFolder.make();
});
afterEach(() => forgetPlugins(client, folder));
afterAll(async () => {
  await env.stop();
  await folder.clear();
});

/**
 * A client whose process dies after so many writes: nothing that it asks for happens any more. `died` resolves then.
 */
function dyingAfter(count: number): { dying: Client; died: Promise<'died'> } {
  let left = count;
  let resolveDied: (what: 'died') => void;
  const died = new Promise<'died'>((resolve) => {
    resolveDied = resolve;
  });
  const unlessDead = <Result>({ plural }: ResourceType, send: () => Promise<Result>): Promise<Result> => {
    // Leases come and go as they will.
    if (plural === 'leases' || left >= 0) return send();
    resolveDied('died');
    return Promise.reject(newServiceUnavailable('this process is dead'));
  };
  const dying = wrapClient(client, {
    read: ({ type }, send) => unlessDead(type, send),
    write: ({ type, options }, send) => {
      if (type.plural !== 'leases') left -= 1;
      return unlessDead(type, () => send(options));
    },
  });
  return { dying, died };
}

type Shipped = ApiObject;

function typeOf(name: string): ResourceType<Shipped> {
  return {
    group: `${name}.example.com`,
    version: 'v1',
    kind: 'Thing',
    plural: 'things',
    namespaced: false,
    hasStatusSubresource: false,
  };
}

async function write(name: string): Promise<void> {
  const thing = (title: string): string =>
    JSON.stringify({ apiVersion: `${name}.example.com/v1`, kind: 'Thing', metadata: { name: title }, spec: {} });
  await folder.write(name, {
    'plugin.yaml': manifest({ name, enabled: true }),
    'index.mjs': `
      import { defineModel, definePlugin, Type } from '@svc/sdk';
      export default definePlugin({ models: [defineModel({ group: '${name}.example.com', version: 'v1', kind: 'Thing', plural: 'things', singular: 'thing', spec: Type.Object({}) })] });
    `,
    'presets/things.yaml': `${thing('one')}\n---\n${thing('two')}\n`,
  });
}

/** Kills a process after `count` writes; false if it finished with fewer. */
async function dies(count: number, work: (signal: AbortSignal) => Promise<unknown>): Promise<boolean> {
  const { dying, died } = dyingAfter(count);
  const host = new TestPluginHost(dying, folder);
  const looking = new AbortController();
  const outcome = await Promise.race([
    died,
    work(looking.signal).then(
      () => 'done',
      () => 'given up',
    ),
  ]);
  looking.abort();
  await host.stop();
  return outcome === 'died';
}

test('after a crash at any write of a start, the next host completes the start; at any write of a stop, it completes the stop', async () => {
  for (let count = 0, isCut = true; isCut; count += 1) {
    const name = `start-${count}`;
    await write(name);
    isCut = await dies(count, (signal) => inPhase(client, name, 'Started', signal));
    const next = new TestPluginHost(client, folder);
    const started = await inPhase(client, name, 'Started');
    expect(started.status!.models).toEqual([`things.${name}.example.com`]);
    expect(
      (await client.list(typeOf(name))).items.map(({ metadata }) => [metadata.name, metadata.labels?.[pluginLabel]]),
    ).toEqual([
      ['one', name],
      ['two', name],
    ]);
    await next.stop();

    await enable(client, name, false);
    await dies(count, (signal) => inPhase(client, name, 'Disabled', signal));
    const last = new TestPluginHost(client, folder);
    const stopped = await inPhase(client, name, 'Disabled');
    expect([stopped.status!.presets, stopped.status!.models, stopped.status!.endpoints]).toEqual([
      [],
      undefined,
      undefined,
    ]);
    expect(
      (await client.get(definitionType, pluginKey(`things.${name}.example.com`))).spec.versions.map(
        ({ served }) => served,
      ),
    ).toEqual([false]);
    await last.stop();
    await forgetPlugins(client, folder);
    expect((await client.list(pluginType)).items).toEqual([]);
    expect(count).toBeLessThan(30);
  }
});
