import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, type ApiObject, type Client, type ResourceType } from '#pkg/apimachinery/index';
import { eventType, pluginType } from '#pkg/apis/index';
import { wrapClient } from '#pkg/client/index';
import { leaseType } from '#pkg/runtime/index';
import { BlindableClient, startTestEnv, type TestEnv } from '../../testenv/index.ts';
import { pluginKey } from './record/plugin-record.ts';
import {
  condition,
  enable,
  waitForPlugin,
  forgetPlugins,
  inPhase,
  startedAs,
  TestPluginHost,
  type TestHostOptions,
} from './start-test-host.ts';
import { manifest, TestFolder } from './test-folder.ts';

let env: TestEnv;
let client: Client;
let folder: TestFolder;
let running: TestPluginHost[] = [];

beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  folder = await TestFolder.make();
});
afterEach(async () => {
  await Promise.all(running.map((host) => host.stop()));
  running = [];
  await forgetPlugins(client, folder);
});
afterAll(async () => {
  await env.stop();
  await folder.clear();
});

function start(options: TestHostOptions = {}): TestPluginHost {
  const host = new TestPluginHost(client, folder, options);
  running.push(host);
  return host;
}

/** The source of a plugin with one endpoint. */
function module(name: string, doing: string): string {
  return `
    import { defineEndpoint, definePlugin } from '@svc/sdk';
    const act = defineEndpoint({ audience: 'public', group: '${name}.example.com', version: 'v1', method: 'POST', path: '/act', operationId: 'act', handler: async (_request, { client }) => { ${doing} } });
    export default definePlugin({ endpoints: [act] });
  `;
}

interface Written {
  version?: string;
  dependencies?: Record<string, string>;
  requires?: string;
  limits?: object;
  environment?: string[];
  doing?: string;
}

function write(name: string, { doing = 'return 1;', ...spec }: Written = {}): Promise<void> {
  return folder.write(name, {
    'plugin.yaml': manifest({ name, enabled: true, ...spec }),
    'index.mjs': module(name, doing),
  });
}

async function act({ host }: TestPluginHost, plugin: string): Promise<string> {
  const call = {
    plugin,
    operationId: 'act',
    endpoint: `POST /apis/api.${plugin}.example.com/v1/act`,
    params: {},
    query: '',
    user: { name: 'anonymous', uid: '', groups: [] },
    requestId: 'test',
  };
  try {
    const { status, body = '' } = await host.call(call, AbortSignal.timeout(20_000));
    return `${status} ${body}`;
  } catch (error) {
    return isStatusError(error) ? error.reason : String(error);
  }
}

/** Phase changes from now on, in order. */
async function* phases(): AsyncGenerator<string> {
  const { resourceVersion, items } = await client.list(pluginType);
  const known = new Map(items.map(({ metadata, status }) => [metadata.name, status?.phase]));
  for await (const event of await client.watch(pluginType, { resourceVersion, signal: AbortSignal.timeout(30_000) })) {
    if (event.type === 'BOOKMARK' || event.type === 'DELETED') continue;
    const { metadata, status } = event.object;
    if (status?.phase === undefined || known.get(metadata.name) === status.phase) continue;
    known.set(metadata.name, status.phase);
    yield `${metadata.name} ${status.phase}`;
  }
}

/** The changes to these phases, until `last`. */
async function phasesUntil(last: string, ...wanted: string[]): Promise<string[]> {
  const seen: string[] = [];
  for await (const change of phases()) {
    if (wanted.includes(change.split(' ')[1]!)) seen.push(change);
    if (change === last) return seen;
  }
  throw new Error(`${last} did not come: ${seen.join(', ')}`);
}

describe('dependencies', () => {
  test('are started first, stopped last, and stop the plugins that need them', async () => {
    const inOrder = ['base Started', 'middle Started', 'top Started'];
    await write('top', { dependencies: { middle: '^1.0.0' } });
    await write('middle', { dependencies: { base: '>=1.0.0 <2.0.0' } });
    await write('base');
    const starting = phasesUntil('top Started', 'Started');
    start();
    expect(await starting).toEqual(inOrder);

    const stopping = phasesUntil('base Disabled', 'Failed', 'Disabled');
    await enable(client, 'base', false);
    // The two workers may end at the same time.
    const stopped = await stopping;
    expect([stopped.slice(0, -1).toSorted(), stopped.at(-1)]).toEqual([
      ['middle Failed', 'top Failed'],
      'base Disabled',
    ]);
    for (const name of ['top', 'middle'])
      expect(condition(await inPhase(client, name, 'Failed'), 'DependenciesMet')).toBe('False DependencyStopped');

    const again = phasesUntil('top Started', 'Started');
    await enable(client, 'base');
    expect(await again).toEqual(inOrder);

    // A version that one of them does not accept.
    await write('base', { version: '2.0.0' });
    const failed = await waitForPlugin(
      client,
      'middle',
      (plugin) => condition(plugin, 'DependenciesMet') === 'False DependencyVersionMismatch',
    );
    expect(failed.status!.phase).toBe('Failed');
    await write('middle', { version: '1.1.0', dependencies: { base: '^2.0.0' } });
    await inPhase(client, 'top', 'Started');
  });

  test('start again with their dependents when their process lost them and leads them again', async () => {
    await write('again');
    await write('on-again', { dependencies: { again: '*' } });
    start();
    await inPhase(client, 'on-again', 'Started');
    const startedAgain = phasesUntil('on-again Started', 'Started');
    const { items } = await client.list(leaseType, { namespace: 'default' });
    const own = items.find(
      ({ metadata, spec }) => metadata.name.startsWith('plugins.host.') && spec?.holderIdentity !== '',
    );
    await client.delete(leaseType, { namespace: 'default', name: own!.metadata.name });
    expect(await startedAgain).toEqual(['again Started', 'on-again Started']);
  });

  test('that have not started are waited for; missing ones and cycles are named', async () => {
    await write('waits', { dependencies: { late: '*' } });
    await write('circle-a', { dependencies: { 'circle-b': '*' } });
    await write('circle-b', { dependencies: { 'circle-a': '*' } });
    await write('modern', { requires: '>=3.0.0' });
    start();
    const missing = await waitForPlugin(client, 'waits', ({ status }) => status?.phase === 'Failed');
    expect(condition(missing, 'DependenciesMet')).toBe('False DependencyMissing');
    for (const name of ['circle-a', 'circle-b']) {
      const failed = await waitForPlugin(
        client,
        name,
        (plugin) => condition(plugin, 'DependenciesMet') === 'False DependencyCircle',
      );
      expect(failed.status!.conditions!.find(({ type }) => type === 'DependenciesMet')!.message).toMatch(
        /circle-a -> circle-b -> circle-a/,
      );
      expect(failed.status!.phase).toBe('Failed');
    }
    const modern = await inPhase(client, 'modern', 'Failed');
    expect(condition(modern, 'DependenciesMet')).toBe('False PlatformVersionMismatch');

    await folder.write('late', { 'plugin.yaml': manifest({ name: 'late' }), 'index.mjs': module('late', '') });
    const waiting = await inPhase(client, 'waits', 'Starting');
    expect(condition(waiting, 'DependenciesMet')).toBe('False DependencyNotStarted');
    await enable(client, 'late');
    await inPhase(client, 'waits', 'Started');
  });
});

describe('a newer version that may not run leaves the previous version running', () => {
  const cases: { reason: string; newer: Written }[] = [
    { reason: 'PlatformVersionMismatch', newer: { requires: '>=3.0.0' } },
    { reason: 'DependencyMissing', newer: { dependencies: { nobody: '*' } } },
    { reason: 'DependencyVersionMismatch', newer: { dependencies: { base: '^2.0.0' } } },
    { reason: 'DependencyNotStarted', newer: { dependencies: { late: '*' } } },
  ];
  test.each(cases)('$reason', async ({ reason, newer }) => {
    await write('base');
    await folder.write('late', { 'plugin.yaml': manifest({ name: 'late' }), 'index.mjs': module('late', '') });
    await write('above', { dependencies: { base: '^1.0.0' } });
    await write('top', { dependencies: { above: '^1.0.0' } });
    const host = start();
    await inPhase(client, 'top', 'Started');
    await write('above', { version: '2.0.0', doing: 'return 2;', ...newer });
    const refused = await waitForPlugin(client, 'above', (plugin) => condition(plugin, 'Reloaded') !== undefined);
    expect(condition(refused, 'Reloaded')).toBe(`False ${reason}`);
    expect(refused.status!.conditions!.find(({ type }) => type === 'Reloaded')!.message).toMatch(
      /^version 2\.0\.0 could not be started, and 1\.0\.0 goes on: /,
    );
    expect([
      refused.status!.phase,
      refused.status!.version,
      condition(refused, 'DependenciesMet'),
      await act(host, 'above'),
    ]).toEqual(['Started', '1.0.0', 'True Met', '200 1']);
    // Dependents count on the running version.
    await write('top', { version: '1.1.0', dependencies: { above: '^1.0.0' } });
    await startedAs(client, 'top', '1.1.0');

    if (reason === 'DependencyNotStarted') await enable(client, 'late');
    else await write('above', { version: '2.0.0', doing: 'return 2;' });
    const fixed = await startedAs(client, 'above', '2.0.0');
    expect([condition(fixed, 'Reloaded'), await act(host, 'above')]).toEqual([undefined, '200 2']);
    await waitForPlugin(
      client,
      'top',
      (plugin) => condition(plugin, 'DependenciesMet') === 'False DependencyVersionMismatch',
    );
  });
});

describe('a worker that crashes', () => {
  const cases: { reason: string; doing: string; limits?: object }[] = [
    {
      reason: 'Threw',
      doing: "setTimeout(() => { throw new Error('of its own accord'); }); await new Promise(() => undefined);",
    },
    { reason: 'Exited', doing: 'process.exit(3);' },
    { reason: 'Blocked', doing: 'for (;;);', limits: { blockedSeconds: 1 } },
    {
      reason: 'OutOfMemory',
      doing: 'const all = []; for (;;) all.push(new Array(1_000_000).fill(0.5));',
      limits: { memoryMiB: 32 },
    },
  ];
  test.each(cases)('$reason: the others continue, and it is restarted', async ({ reason, doing, limits }) => {
    const name = reason.toLowerCase();
    await write(name, { doing, ...(limits === undefined ? {} : { limits }) });
    await write('well');
    const host = start();
    const started = await inPhase(client, name, 'Started');
    await inPhase(client, 'well', 'Started');
    const dying = act(host, name);
    const failed = await waitForPlugin(client, name, ({ status }) => status?.phase === 'Failed');
    expect(condition(failed, 'Healthy')).toBe(`False ${reason}`);
    expect([failed.status!.restarts, failed.status!.endpoints]).toEqual([1, started.status!.endpoints]);
    expect(await dying).toBe('ServiceUnavailable');
    expect(await act(host, name)).toBe('ServiceUnavailable');
    expect(await act(host, 'well')).toBe('200 1');
    const again = await inPhase(client, name, 'Started');
    expect([again.status!.restarts, condition(again, 'Healthy')]).toEqual([1, 'True Running']);
    await enable(client, name, false);
    expect((await inPhase(client, name, 'Disabled')).status!.restarts).toBeUndefined();
    await host.stop();
    const { items } = await client.list(eventType, {
      namespace: 'default',
      fieldSelector: `involvedObject.name=${name}`,
    });
    expect(new Set(items.map((event) => event.reason))).toEqual(new Set([reason, 'Started', 'Stopped']));
  });
});

describe('several hosts', () => {
  type Namespace = ApiObject;
  const namespaceType: ResourceType<Namespace> = {
    group: '',
    version: 'v1',
    kind: 'Namespace',
    plural: 'namespaces',
    namespaced: false,
    hasStatusSubresource: true,
  };

  test('run the plugins in one process at a time; when it ends another takes over, and nothing is removed in between', async () => {
    await write('shared', { doing: 'return 1;' });
    await folder.write('shared', {
      'presets/namespace.yaml': '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shipped"}}',
    });
    const hosts = [start(), start()];
    const first = await inPhase(client, 'shared', 'Started');
    const shipped = await client.get(namespaceType, pluginKey('shipped'));
    const answers = await Promise.all(hosts.map((host) => act(host, 'shared')));
    expect(answers.toSorted()).toEqual(['200 1', 'ServiceUnavailable']);
    const [leader, other] = answers[0] === '200 1' ? [hosts[0]!, hosts[1]!] : [hosts[1]!, hosts[0]!];

    await leader.stop();
    expect(await act(leader, 'shared')).toBe('ServiceUnavailable');
    await waitForPlugin(
      client,
      'shared',
      ({ status, metadata }) =>
        status?.phase === 'Started' && BigInt(metadata.resourceVersion) > BigInt(first.metadata.resourceVersion),
    );
    expect(await act(other, 'shared')).toBe('200 1');
    await other.stop();
    const last = await client.get(pluginType, pluginKey('shared'));
    expect([last.status!.phase, last.status!.endpoints!.length, last.status!.presets!.length]).toEqual([
      'Started',
      1,
      1,
    ]);
    expect((await client.get(namespaceType, pluginKey('shipped'))).metadata).toMatchObject({
      uid: shipped.metadata.uid,
      resourceVersion: shipped.metadata.resourceVersion,
    });
  });

  test('complete an interrupted stop', async () => {
    await client.create(pluginType, {
      apiVersion: 'plugin.svc.run/v1alpha1',
      kind: 'Plugin',
      metadata: { name: 'half-stopped' },
      spec: { version: '1.0.0', enabled: false },
    });
    const presets = [{ apiVersion: 'v1', kind: 'Namespace', name: 'half-stopped' }];
    await client.create(namespaceType, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: 'half-stopped',
        labels: { 'svc.run/plugin': 'half-stopped' },
        finalizers: ['test.example.com/held'],
      },
    });
    await client.patchStatus(pluginType, pluginKey('half-stopped'), {
      type: 'merge',
      patch: { status: { phase: 'Stopping', presets, models: [] } },
    });
    const { resourceVersion } = await client.list(namespaceType);
    start();
    // A finalizer holds a preset for a while.
    for await (const event of await client.watch(namespaceType, {
      resourceVersion,
      signal: AbortSignal.timeout(20_000),
    })) {
      if (event.type === 'MODIFIED' && event.object.metadata.deletionTimestamp !== undefined) break;
    }
    await client.patch(namespaceType, pluginKey('half-stopped'), {
      type: 'merge',
      patch: { metadata: { finalizers: null } },
    });
    const stopped = await inPhase(client, 'half-stopped', 'Disabled');
    expect([stopped.status!.presets, stopped.status!.models]).toEqual([[], undefined]);
  });
});

test('writes of a plugin are accepted only while its process leads', async () => {
  const doing = `
    const namespaces = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false, hasStatusSubresource: true };
    const { resourceVersion } = await client.list(namespaces);
    const news = await client.watch(namespaces, { resourceVersion });
    const written = await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { generateName: 'fenced-' } });
    for await (const event of news) if (event.object?.metadata.uid === written.metadata.uid) return event.type;`;
  await write('fenced', { doing });
  // It does not learn that its lease changes, like a process that was frozen.
  const leases = new BlindableClient(client);
  const host = start({ leasesClient: leases.client });
  const { metadata } = await inPhase(client, 'fenced', 'Started');
  expect(await act(host, 'fenced')).toBe('200 "ADDED"');
  const key = { namespace: 'default', name: `plugins.plugin.fenced.${metadata.uid}` };
  const { spec } = await client.get(leaseType, key);
  leases.goBlind();
  const taken = { holderIdentity: 'another', leaseTransitions: (spec?.leaseTransitions ?? 0) + 1 };
  await client.patch(leaseType, key, { type: 'merge', patch: { spec: taken } });
  expect(await act(host, 'fenced')).toBe('Conflict');
  await client.delete(leaseType, key);
});

test('an event about a plugin is written only if its process still leads', async () => {
  await write('reported');
  const leases = new BlindableClient(client);
  let report: (written: Promise<unknown>) => void = () => undefined;
  const reported = new Promise((resolve) => (report = resolve));
  // The lease changes hands between the report and its write.
  const overtaken = wrapClient(client, {
    create: async (type, object, options) => {
      if (type.plural !== eventType.plural) return client.create(type, object, options);
      leases.goBlind();
      const { metadata } = await client.get(pluginType, pluginKey('reported'));
      const key = { namespace: 'default', name: `plugins.plugin.reported.${metadata.uid}` };
      const { spec } = await client.get(leaseType, key);
      const taken = { holderIdentity: 'another', leaseTransitions: (spec?.leaseTransitions ?? 0) + 1 };
      await client.patch(leaseType, key, { type: 'merge', patch: { spec: taken } });
      const written = client.create(type, object, options);
      report(written);
      return written;
    },
  });
  running.push(new TestPluginHost(overtaken, folder, { leasesClient: leases.client }));
  await expect(reported).rejects.toMatchObject({ code: 409 });
  const { items } = await client.list(eventType, { fieldSelector: 'involvedObject.name=reported' });
  expect(items).toEqual([]);
});

test('a plugin sees the variables that its manifest names', async () => {
  await write('seeing', { environment: ['GIVEN', 'ABSENT'], doing: 'return { ...process.env };' });
  const host = start({ environment: { GIVEN: 'a', HIDDEN: 'b' } });
  await inPhase(client, 'seeing', 'Started');
  expect(await act(host, 'seeing')).toBe('200 {"GIVEN":"a"}');
});
