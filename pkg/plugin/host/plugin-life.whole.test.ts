import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, type ApiObject, type Client, type ResourceType } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';
import { definitionType, pluginLabel, pluginType, type DefinitionSpec } from '#pkg/apis/index';
import { startTestEnv, type TestEnv } from '../../testenv/index.ts';
import { pluginKey, stopFinalizer } from './record/plugin-record.ts';
import {
  condition,
  enable,
  waitForPlugin,
  forgetPlugins,
  inPhase,
  startedAs,
  TestPluginHost,
} from './start-test-host.ts';
import { manifest, TestFolder } from './test-folder.ts';

type Note = ApiObject<{ title: string }, { seen: boolean }>;

let env: TestEnv;
let client: Client;
let folder: TestFolder;
let running: TestPluginHost[] = [];

beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
});
beforeAll(async () => {
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

function start(options: ConstructorParameters<typeof TestPluginHost>[2] = {}): TestPluginHost {
  const host = new TestPluginHost(client, folder, options);
  running.push(host);
  return host;
}

function noteType(name: string): ResourceType<Note> {
  return {
    group: `${name}.example.com`,
    version: 'v1',
    kind: 'Note',
    plural: 'notes',
    namespaced: false,
    hasStatusSubresource: true,
  };
}

function newNote(name: string, title: string, labels = {}): Note {
  return { apiVersion: `${name}.example.com/v1`, kind: 'Note', metadata: { name: title, labels }, spec: { title } };
}

/** The source of a plugin with a model, a controller that marks its objects, an endpoint and a preset. */
function module(
  name: string,
  { greeting = 'hello', before = '' }: { greeting?: string; before?: string } = {},
): string {
  return `
    import { controllerFor, defineEndpoint, defineModel, definePlugin, Type } from '@svc/sdk';
    ${before}
    const Note = defineModel({ group: '${name}.example.com', version: 'v1', kind: 'Note', plural: 'notes', singular: 'note',
      spec: Type.Object({ title: Type.String() }), status: Type.Object({ seen: Type.Boolean() }) });
    const seeing = controllerFor(Note).reconcile(async ({ name }, { client, lister }) => {
      const note = lister(Note).get({ namespace: '', name });
      if (note !== undefined && note.status?.seen !== true) await client.patchStatus(Note, { namespace: '', name }, { type: 'merge', patch: { status: { seen: true } } });
    });
    const greet = defineEndpoint({ audience: 'public', group: '${name}.example.com', version: 'v1', method: 'GET', path: '/greeting', operationId: 'greet', handler: async () => ({ greeting: '${greeting}' }) });
    export default definePlugin({ models: [Note], controllers: [seeing], endpoints: [greet] });
  `;
}

async function write(
  name: string,
  options: { version?: string; enabled?: boolean; greeting?: string; before?: string; preset?: string } = {},
): Promise<void> {
  const { version, enabled } = options;
  await folder.write(name, {
    'plugin.yaml': manifest({
      name,
      ...(version === undefined ? {} : { version }),
      ...(enabled === undefined ? {} : { enabled }),
    }),
    'index.ts': module(name, options),
    'presets/notes.yaml': JSON.stringify(newNote(name, options.preset ?? 'welcome')),
  });
}

async function greetingOf({ host }: TestPluginHost, plugin: string): Promise<unknown> {
  const call = {
    plugin,
    operationId: 'greet',
    endpoint: `GET /apis/api.${plugin}.example.com/v1/greeting`,
    params: {},
    query: '',
    user: { name: 'anonymous', uid: '', groups: [] },
    requestId: 'test',
  };
  const { status, body = '' } = await host.call(call, AbortSignal.timeout(10_000));
  return [status, JSON.parse(body)];
}

const reasonOf = (error: unknown): string => (isStatusError(error) ? error.reason : String(error));
const isServed = (name: string): Promise<boolean> =>
  client.list(noteType(name)).then(
    () => true,
    () => false,
  );

describe('a folder', () => {
  test('becomes an object; when enabled it has models, presets, controllers and endpoints; when disabled these are removed, and objects of users stay', async () => {
    await write('notes');
    const host = start();
    const seen = await inPhase(client, 'notes', 'Disabled');
    expect(seen.spec).toEqual({ version: '1.0.0', enabled: false });
    expect(condition(seen, 'FilesValid')).toBe('True Valid');
    expect(await isServed('notes')).toBe(false);
    expect(host.host.phases()).toEqual(new Map([['Disabled', 1]]));

    await enable(client, 'notes');
    const started = await inPhase(client, 'notes', 'Started');
    expect(started.metadata.finalizers).toEqual([stopFinalizer]);
    expect(started.status).toMatchObject({
      version: '1.0.0',
      models: ['notes.notes.example.com'],
      controllers: ['notes'],
      observedGeneration: started.metadata.generation,
    });
    expect(started.status!.endpoints).toEqual([
      expect.objectContaining({
        operationId: 'greet',
        audience: 'public',
        group: 'notes.example.com',
        path: '/greeting',
      }),
    ]);
    expect(started.status!.presets).toEqual([{ apiVersion: 'notes.example.com/v1', kind: 'Note', name: 'welcome' }]);
    expect(started.status!.conditions!.map(({ type, status }) => `${type} ${status}`).toSorted()).toEqual([
      'DependenciesMet True',
      'FilesValid True',
      'Healthy True',
      'ModelsServed True',
      'PresetsApplied True',
    ]);
    expect(await greetingOf(host, 'notes')).toEqual([200, { greeting: 'hello' }]);
    const type = noteType('notes');
    expect((await client.get(type, pluginKey('welcome'))).metadata.labels).toEqual({ [pluginLabel]: 'notes' });
    await client.create(type, newNote('notes', 'mine'));
    const { resourceVersion } = await client.list(type);
    for await (const event of await client.watch(type, { resourceVersion, signal: AbortSignal.timeout(10_000) })) {
      if (event.type !== 'BOOKMARK' && event.object.status?.seen === true) break;
    }

    await enable(client, 'notes', false);
    const stopped = await inPhase(client, 'notes', 'Disabled');
    expect(Object.keys(stopped.status!).toSorted()).toEqual([
      'conditions',
      'observedGeneration',
      'phase',
      'presets',
      'version',
    ]);
    expect(stopped.status!.presets).toEqual([]);
    expect(await isServed('notes')).toBe(false);
    await expect(greetingOf(host, 'notes').catch(reasonOf)).resolves.toBe('ServiceUnavailable');
    const definition = await client.get(definitionType, pluginKey('notes.notes.example.com'));
    expect(definition.spec.versions.map(({ served }) => served)).toEqual([false]);

    await enable(client, 'notes');
    await inPhase(client, 'notes', 'Started');
    expect((await client.list(type)).items.map(({ metadata }) => metadata.name)).toEqual(['mine', 'welcome']);
    await client.delete(pluginType, pluginKey('notes'));
    // The folder exists, so the host recreates the object; the folder does not count as new.
    await waitForPlugin(
      client,
      'notes',
      ({ metadata, status }) => metadata.uid !== started.metadata.uid && status?.phase === 'Disabled',
    );
    expect(await isServed('notes')).toBe(false);
  });

  test('is started when it is first seen if its file says so, and read only after a copy has finished', async () => {
    await folder.write('early', { 'plugin.yaml': 'apiVersion: plugin.svc.run/v1alpha1\nkind: Plu' });
    const host = start({ intervalMs: 400 });
    await write('early', { enabled: true });
    const started = await inPhase(client, 'early', 'Started');
    expect(started.metadata.generation).toBe(1);
    expect(await greetingOf(host, 'early')).toEqual([200, { greeting: 'hello' }]);
  });

  test('that is not a valid plugin is reported under its name; after a fix it works', async () => {
    await folder.write('broken', {
      'plugin.yaml': JSON.stringify({
        apiVersion: 'plugin.svc.run/v1alpha1',
        kind: 'Plugin',
        metadata: { name: 'broken' },
        spec: { version: 'one' },
      }),
    });
    await folder.write('nameless', { 'plugin.yaml': '{' });
    start();
    const invalid = await waitForPlugin(
      client,
      'broken',
      (plugin) => condition(plugin, 'FilesValid') === 'False ManifestInvalid',
    );
    expect(invalid.status!.conditions![0]!.message).toMatch(/spec\.version/);
    await enable(client, 'broken');
    await inPhase(client, 'broken', 'Failed');
    await write('broken', { version: '2.0.0' });
    const started = await startedAs(client, 'broken', '2.0.0');
    expect(started.spec.version).toBe('2.0.0');
  });

  test('that is removed leaves its plugin running until it is disabled', async () => {
    await write('gone', { enabled: true });
    const host = start();
    await inPhase(client, 'gone', 'Started');
    await folder.remove('gone');
    const without = await waitForPlugin(
      client,
      'gone',
      (plugin) => condition(plugin, 'FilesValid') === 'False FolderMissing',
    );
    expect(without.status!.phase).toBe('Started');
    expect(await greetingOf(host, 'gone')).toEqual([200, { greeting: 'hello' }]);
    await client.delete(pluginType, pluginKey('gone'));
    for await (const event of await client.watch(pluginType, {
      resourceVersion: without.metadata.resourceVersion,
      signal: AbortSignal.timeout(20_000),
    })) {
      if (event.type === 'DELETED') break;
    }
    expect(await isServed('gone')).toBe(false);
    expect(await client.get(pluginType, pluginKey('gone')).catch(reasonOf)).toBe('NotFound');
  });
});

test('a slow start is aborted when the plugin is to stop', async () => {
  await write('slow', { enabled: true, before: 'await new Promise(() => setInterval(() => undefined, 1000));' });
  start();
  await inPhase(client, 'slow', 'Starting');
  const began = performance.now();
  await enable(client, 'slow', false);
  await inPhase(client, 'slow', 'Disabled');
  // The start may take 30 s.
  expect(performance.now() - began).toBeLessThan(25_000);
});

test('a start is aborted that was no longer wanted when it began', async () => {
  await write('hasty', { enabled: true, before: 'await new Promise(() => setInterval(() => undefined, 1000));' });
  let isFirst = true;
  const late = wrapClient(client, {
    get: async (type, ...more) => {
      if (type.plural === pluginType.plural && isFirst) {
        isFirst = false;
        await enable(client, 'hasty', false);
      }
      return client.get(type, ...more);
    },
  });
  running.push(new TestPluginHost(late, folder));
  const began = performance.now();
  await waitForPlugin(
    client,
    'hasty',
    ({ spec, status, metadata }) =>
      spec.enabled === false && status?.phase === 'Disabled' && status.observedGeneration === metadata.generation,
  );
  expect(performance.now() - began).toBeLessThan(25_000);
});

test('slow starts do not delay the starts and stops of other plugins', async () => {
  await write('swift', { enabled: true });
  start();
  await inPhase(client, 'swift', 'Started');
  const names = Array.from({ length: 8 }, (_, i) => `slow-${i}`);
  for (const name of names)
    await folder.write(name, {
      'plugin.yaml': manifest({ name, enabled: true }),
      'index.mjs': 'await new Promise(() => setInterval(() => undefined, 1000));',
    });
  await Promise.all(names.map((name) => inPhase(client, name, 'Starting')));
  const began = performance.now();
  await enable(client, 'swift', false);
  await inPhase(client, 'swift', 'Disabled');
  await enable(client, 'swift');
  await inPhase(client, 'swift', 'Started');
  expect(performance.now() - began).toBeLessThan(25_000);
});

test('a plugin that was deleted while its folder existed does not start by itself, even if the process crashed before the object was recreated', async () => {
  await write('deleted', { enabled: true });
  const dying = wrapClient(client, {
    create: (type, ...more) =>
      type.plural === pluginType.plural && hasStarted
        ? new Promise((_resolve, reject) => setImmediate(reject, new Error('this process is dead')))
        : client.create(type, ...more),
  });
  let hasStarted = false;
  const first = new TestPluginHost(dying, folder);
  running.push(first);
  const { metadata } = await inPhase(client, 'deleted', 'Started');
  hasStarted = true;
  await client.delete(pluginType, pluginKey('deleted'));
  for await (const event of await client.watch(pluginType, {
    resourceVersion: metadata.resourceVersion,
    signal: AbortSignal.timeout(20_000),
  })) {
    if (event.type === 'DELETED') break;
  }
  await first.stop();
  start();
  const again = await inPhase(client, 'deleted', 'Disabled');
  expect([again.spec.enabled, again.metadata.uid === metadata.uid]).toEqual([false, false]);
});

test('an unchanged status is not written again', async () => {
  await write('same', { enabled: true });
  start();
  const { metadata } = await startedAs(client, 'same', '1.0.0');
  for (const name of ['other', 'another']) {
    await write(name);
    await inPhase(client, name, 'Disabled');
  }
  expect((await client.get(pluginType, pluginKey('same'))).metadata.resourceVersion).toBe(metadata.resourceVersion);
});

describe('changed files', () => {
  test('restart the plugin, and remove what it no longer ships; presets of both versions stay', async () => {
    await write('changing', { enabled: true });
    const host = start();
    const first = await inPhase(client, 'changing', 'Started');
    const type = noteType('changing');
    const { metadata } = await client.get(type, pluginKey('welcome'));
    await write('changing', { greeting: 'good day' });
    while (JSON.stringify(await greetingOf(host, 'changing')) !== JSON.stringify([200, { greeting: 'good day' }]))
      await new Promise((resolve) => setImmediate(resolve));
    expect((await client.get(pluginType, pluginKey('changing'))).status!.phase).toBe('Started');
    expect((await client.get(type, pluginKey('welcome'))).metadata.uid).toBe(metadata.uid);

    await write('changing', { version: '1.1.0', preset: 'news' });
    const upgraded = await startedAs(client, 'changing', '1.1.0');
    expect([upgraded.spec.version, upgraded.spec.enabled, first.spec.version]).toEqual(['1.1.0', true, '1.0.0']);
    expect((await client.list(type)).items.map((note) => note.metadata.name)).toEqual(['news']);
  });

  test('outside of the bundle restart nothing, even if the plugin writes them itself', async () => {
    const before =
      "import { writeFileSync } from 'node:fs'; import { fileURLToPath } from 'node:url'; writeFileSync(fileURLToPath(new URL('state.json', import.meta.url)), String(Date.now()));";
    await write('selfish', { enabled: true, before });
    const host = start();
    const { metadata } = await inPhase(client, 'selfish', 'Started');
    // Once the host has seen a folder that was written later, it has seen this one too.
    await folder.write('later', { 'plugin.yaml': manifest({ name: 'later' }) });
    await waitForPlugin(client, 'later', ({ status }) => status !== undefined);
    await write('selfish', { before, version: '1.1.0' });
    const { resourceVersion } = metadata;
    const phases: [string | undefined, string | undefined][] = [];
    for await (const event of await client.watch(pluginType, {
      resourceVersion,
      signal: AbortSignal.timeout(20_000),
    })) {
      if (event.type !== 'MODIFIED' || event.object.metadata.name !== 'selfish') continue;
      phases.push([event.object.status?.phase, event.object.status?.version]);
      if (event.object.status?.version === '1.1.0') break;
    }
    expect(phases.filter(([phase]) => phase === 'Started').length).toBeLessThanOrEqual(2);
    expect(phases.filter(([phase]) => phase !== 'Started')).toEqual([]);
    expect(await greetingOf(host, 'selfish')).toEqual([200, { greeting: 'hello' }]);
  });

  test('that cannot be read leave the old version running, and are reported', async () => {
    await write('careful', { enabled: true });
    const host = start();
    await inPhase(client, 'careful', 'Started');
    await write('careful', { before: 'const = ;' });
    const refused = await waitForPlugin(
      client,
      'careful',
      (plugin) => condition(plugin, 'FilesValid') === 'False BundleFailed',
    );
    expect(refused.status!.phase).toBe('Started');
    expect(await greetingOf(host, 'careful')).toEqual([200, { greeting: 'hello' }]);
    await write('careful', { greeting: 'mended' });
    await waitForPlugin(client, 'careful', (plugin) => condition(plugin, 'FilesValid') === 'True Valid');
    expect(await greetingOf(host, 'careful')).toEqual([200, { greeting: 'mended' }]);
  });

  test('wait for another version if reloading is off', async () => {
    await write('steady', { enabled: true });
    const host = start({ reload: false });
    await inPhase(client, 'steady', 'Started');
    await folder.write('steady', {
      'index.ts': module('steady', { greeting: 'too early' }),
      'plugin.yaml': manifest({ name: 'steady', requires: '>=2.0.0' }),
    });
    await waitForPlugin(client, 'steady', ({ spec }) => spec.requires === '>=2.0.0');
    expect(await greetingOf(host, 'steady')).toEqual([200, { greeting: 'hello' }]);
    await write('steady', { version: '1.0.1', greeting: 'at last' });
    await startedAs(client, 'steady', '1.0.1');
    expect(await greetingOf(host, 'steady')).toEqual([200, { greeting: 'at last' }]);
  });
});

describe('a failed start is undone', () => {
  test('at a status that cannot be stored', async () => {
    await folder.write('wide', {
      'plugin.yaml': manifest({ name: 'wide', enabled: true }),
      'index.mjs': `
        import { defineEndpoint, definePlugin } from '@svc/sdk';
        const wide = (i) => defineEndpoint({ audience: 'public', group: 'wide.example.com', version: 'v1', method: 'GET', path: '/x' + i, description: 'd'.repeat(9000), handler: async () => 1 });
        export default definePlugin({ endpoints: Array.from({ length: 400 }, (_, i) => wide(i)) });
      `,
    });
    start();
    const failed = await inPhase(client, 'wide', 'Failed');
    expect(condition(failed, 'Healthy')).toBe('False DefinitionInvalid');
  });

  const cases: { reason: string; name: string; says: string; condition: string; change: () => Promise<unknown> }[] = [
    {
      reason: 'a throw in the module',
      name: 'throws',
      says: 'False ModuleFailed',
      condition: 'Healthy',
      change: () => write('throws', { enabled: true, before: "throw new Error('not today');" }),
    },
    {
      reason: 'a preset of an unknown kind',
      name: 'unknown',
      says: 'False PresetKindUnknown',
      condition: 'PresetsApplied',
      change: async () => {
        await write('unknown', { enabled: true });
        await folder.write('unknown', {
          'presets/other.yaml': '{"apiVersion":"nowhere.example.com/v1","kind":"Thing","metadata":{"name":"a"}}',
        });
      },
    },
    {
      reason: 'a preset that belongs to another plugin',
      name: 'thief',
      says: 'False PresetTaken',
      condition: 'PresetsApplied',
      change: async () => {
        const namespaceType: ResourceType = {
          group: '',
          version: 'v1',
          kind: 'Namespace',
          plural: 'namespaces',
          namespaced: false,
          hasStatusSubresource: true,
        };
        await client.create(namespaceType, {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name: 'owned', labels: { [pluginLabel]: 'somebody' } },
        });
        await write('thief', { enabled: true });
        await folder.write('thief', {
          'presets/zz.yaml': '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"owned"}}',
        });
      },
    },
    {
      reason: 'a model that belongs to another plugin',
      name: 'clash',
      says: 'False Conflict',
      condition: 'ModelsServed',
      change: async () => {
        const spec: DefinitionSpec = {
          group: 'clash.example.com',
          scope: 'Cluster',
          names: { plural: 'notes', singular: 'note', kind: 'Note' },
          versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
        };
        await client.create(definitionType, {
          apiVersion: 'apiextensions.k8s.io/v1',
          kind: 'CustomResourceDefinition',
          metadata: { name: 'notes.clash.example.com', labels: { [pluginLabel]: 'first' } },
          spec,
        });
        await write('clash', { enabled: true });
      },
    },
  ];
  test.each(cases)('$reason', async ({ name, says, condition: type, change }) => {
    await change();
    const host = start();
    const failed = await waitForPlugin(client, name, (plugin) => plugin.status?.phase === 'Failed');
    expect([condition(failed, type), failed.status]).toEqual([says, failed.status]);
    expect([failed.status!.models, failed.status!.endpoints, failed.status!.presets ?? []]).toEqual([
      undefined,
      undefined,
      [],
    ]);
    if (name !== 'clash') expect(await isServed(name)).toBe(false);
    expect(await greetingOf(host, name).catch(reasonOf)).toBe('ServiceUnavailable');
    await enable(client, name, false);
    await inPhase(client, name, 'Disabled');
  });

  test('a plugin starts after a fix without another step', async () => {
    await write('mended', { enabled: true, before: "throw new Error('not today');" });
    start();
    const failed = await inPhase(client, 'mended', 'Failed');
    expect(failed.status!.conditions!.find(({ type }) => type === 'Healthy')!.message).toMatch(/not today/);
    await write('mended');
    await inPhase(client, 'mended', 'Started');
  });
});
