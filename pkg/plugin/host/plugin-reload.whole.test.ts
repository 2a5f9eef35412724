import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, type ApiObject, type Client, type ResourceType } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';
import { definitionType } from '#pkg/apis/index';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { startTestEnv, type TestEnv } from '../../testenv/index.ts';
import { threadCount } from '../worker/worker-thread.ts';
import { pluginKey } from './record/plugin-record.ts';
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

type Note = ApiObject<{ title: string; stars?: number }, { seen?: string }>;

let env: TestEnv;
let client: Client;
let folder: TestFolder;
let host: TestPluginHost;

beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  folder = await TestFolder.make();
});
afterEach(async () => {
  await host.stop();
  await forgetPlugins(client, folder);
});
afterAll(async () => {
  await env.stop();
  await folder.clear();
});

function noteType(plugin: string): ResourceType<Note> {
  return {
    group: `${plugin}.example.com`,
    version: 'v1',
    kind: 'Note',
    plural: 'notes',
    namespaced: false,
    hasStatusSubresource: true,
  };
}

interface Written {
  version: string;
  /** Inserted at the start of the module. */
  before?: string;
  /** Added to a note's schema, next to the title. */
  fields?: string;
  /** Replaces the reconcile that marks notes with the version. */
  reconcile?: string;
  /** Replaces the list of controllers. */
  controllers?: string;
  models?: string;
  path?: string;
  presets?: object[];
}

/**
 * Writes a plugin with a model, a controller that marks its objects with the version, an endpoint that returns it, and
 * presets.
 */
async function write(
  name: string,
  {
    version,
    before = '',
    fields = '',
    reconcile,
    controllers = '[seeing]',
    models = '[Note]',
    path = '/version',
    presets = [],
  }: Written,
): Promise<void> {
  await folder.write(name, {
    'plugin.yaml': manifest({ name, version, enabled: true }),
    'index.ts': `
      import { controllerFor, defineEndpoint, defineModel, definePlugin, Type } from '@svc/sdk';
      ${before}
      const at = { group: '${name}.example.com', version: 'v1' } as const;
      const Note = defineModel({ ...at, kind: 'Note', plural: 'notes', singular: 'note', spec: Type.Object({ title: Type.String(), ${fields} }), status: Type.Object({ seen: Type.Optional(Type.String()) }) });
      const Extra = defineModel({ ...at, kind: 'Extra', plural: 'extras', singular: 'extra', spec: Type.Object({}) });
      const seeing = controllerFor(Note).reconcile(async ({ name }, { client }) => {
        ${reconcile ?? `await client.patchStatus(Note, { namespace: '', name }, { type: 'merge', patch: { status: { seen: '${version}' } } });`}
      });
      const tell = defineEndpoint({ ...at, audience: 'public', method: 'GET', path: '${path}', operationId: 'tell', handler: async () => '${version}' });
      export default definePlugin({ models: ${models}, controllers: ${controllers}, endpoints: [tell] });
    `,
    'presets/notes.yaml': presets.map((each) => JSON.stringify(each)).join('\n---\n'),
  });
}

function note(plugin: string, name: string, spec: Note['spec'] = { title: name }): Note {
  return { apiVersion: `${plugin}.example.com/v1`, kind: 'Note', metadata: { name }, spec };
}

async function ask(plugin: string, path = '/version'): Promise<string> {
  const call = {
    plugin,
    operationId: 'tell',
    endpoint: `GET /apis/api.${plugin}.example.com/v1${path}`,
    params: {},
    query: '',
    user: { name: 'anonymous', uid: '', groups: [] },
    requestId: 'test',
  };
  try {
    return (await host.host.call(call, AbortSignal.timeout(20_000))).body ?? '';
  } catch (error) {
    return isStatusError(error) ? error.reason : String(error);
  }
}

/**
 * Calls the endpoint repeatedly until stopped; records the different responses in order, and the maximum number of
 * workers.
 */
class Poll {
  readonly answers: string[] = [];
  workers = 0;
  count = 0;
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(plugin: string) {
    this.#running = this.#run(plugin);
  }

  async until(answer: string): Promise<void> {
    while (this.answers.at(-1) !== answer) await new Promise((resolve) => setImmediate(resolve));
  }

  async stop(): Promise<string[]> {
    this.#isOver = true;
    await this.#running;
    return this.answers;
  }

  async #run(plugin: string): Promise<void> {
    while (!this.#isOver) {
      const answer = await ask(plugin);
      this.count += 1;
      this.workers = Math.max(this.workers, threadCount());
      if (this.answers.at(-1) !== answer) this.answers.push(answer);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Waits until the controller of a version has marked the note. */
async function seenBy(plugin: string, name: string, version: string): Promise<void> {
  const type = noteType(plugin);
  const { resourceVersion, items } = await client.list(type);
  if (items.some((each) => each.metadata.name === name && each.status?.seen === version)) return;
  for await (const event of await client.watch(type, { resourceVersion, signal: AbortSignal.timeout(30_000) })) {
    if (event.type !== 'BOOKMARK' && event.object.metadata.name === name && event.object.status?.seen === version)
      return;
  }
  throw new Error(`${name} was not seen by ${version}`);
}

test('changed presets reach a running plugin without another worker; a refused one leaves those that were there', async () => {
  const writeWith = (...presets: Note[]): Promise<void> => write('calm', { version: '1.0.0', presets });
  await writeWith(note('calm', 'shipped'));
  let starts = 0;
  const observer = { started: () => void (starts += 1), crashed: () => undefined };
  host = new TestPluginHost(client, folder, { observer });
  await startedAs(client, 'calm', '1.0.0');
  const poll = new Poll('calm');
  const titles = async (): Promise<string[]> =>
    (await client.list(noteType('calm'))).items.map(({ metadata, spec }) => `${metadata.name}: ${spec?.title}`);
  for (let i = 1; i <= 12; i += 1) {
    await writeWith(note('calm', 'shipped', { title: String(i) }), note('calm', `of-${i}`));
    await pollUntil(async () => (await titles()).join() === `of-${i}: of-${i},shipped: ${i}`);
  }
  expect([await poll.stop(), starts]).toEqual([['"1.0.0"'], 1]);

  await writeWith(note('calm', 'other'), { ...note('calm', 'bad'), spec: { title: 5 as never } });
  const refused = await waitForPlugin(client, 'calm', (plugin) => condition(plugin, 'Reloaded') !== undefined);
  expect(condition(refused, 'Reloaded')).toBe('False PresetRefused');
  expect(await titles()).toEqual(['of-12: of-12', 'shipped: 12']);
  await writeWith(note('calm', 'other'));
  const mended = await waitForPlugin(client, 'calm', (plugin) => condition(plugin, 'Reloaded') === undefined);
  expect([mended.status!.phase, starts, await titles()]).toEqual(['Started', 1, ['other: other']]);
});

test('the previous version answers until the new one does; models, presets and controllers follow, with at most two workers', async () => {
  await write('steady', { version: '1.0.0', presets: [note('steady', 'shipped')] });
  host = new TestPluginHost(client, folder);
  await startedAs(client, 'steady', '1.0.0');
  const poll = new Poll('steady');
  for (let i = 1; i <= 5; i += 1) {
    const spec = { title: 'shipped', ...(i % 2 === 0 ? {} : { stars: i }) };
    await write('steady', {
      version: `1.0.${i}`,
      fields: i % 2 === 0 ? '' : 'stars: Type.Optional(Type.Integer()),',
      models: i === 3 ? '[Note, Extra]' : '[Note]',
      presets: [note('steady', 'shipped', spec), ...(i === 4 ? [] : [note('steady', `of-${i}`)])],
    });
    const { status } = await startedAs(client, 'steady', `1.0.${i}`);
    expect(status!.models).toHaveLength(i === 3 ? 2 : 1);
    expect(
      (await client.list(noteType('steady'))).items.map(({ metadata, spec: { title, stars } = { title: '' } }) => [
        metadata.name,
        title,
        stars,
      ]),
    ).toEqual([
      ...(i === 4 ? [] : [[`of-${i}`, `of-${i}`, undefined]]),
      ['shipped', 'shipped', i % 2 === 0 ? undefined : i],
    ]);
    await seenBy('steady', 'shipped', `1.0.${i}`);
  }
  expect(await poll.stop()).toEqual(['0', '1', '2', '3', '4', '5'].map((each) => `"1.0.${each}"`));
  expect(poll.workers).toBe(2);
  expect(poll.count).toBeGreaterThan(100);
});

test('an endpoint that moved is answered at both paths until the new path is known', async () => {
  await write('moving', { version: '1.0.0' });
  const seen: string[] = [];
  const noting = wrapClient(client, {
    patchStatus: async (type, key, patch, options) => {
      const isTold = JSON.stringify(patch).includes('"version":"2.0.0"');
      if (isTold) seen.push(await ask('moving'), await ask('moving', '/moved'));
      const result = await client.patchStatus(type, key, patch, options);
      if (isTold) seen.push(await ask('moving'), await ask('moving', '/moved'));
      return result;
    },
  });
  host = new TestPluginHost(noting, folder);
  await startedAs(client, 'moving', '1.0.0');
  await write('moving', { version: '2.0.0', path: '/moved' });
  await startedAs(client, 'moving', '2.0.0');
  while ((await ask('moving')) !== 'ServiceUnavailable') await new Promise((resolve) => setImmediate(resolve));
  expect(seen).toEqual(['"1.0.0"', '"2.0.0"', '"1.0.0"', '"2.0.0"']);
});

describe('a newer version that cannot be started leaves the previous one unchanged', () => {
  const cases: { what: string; reason: string; newer: Omit<Written, 'version'>; says: string }[] = [
    {
      what: 'a module that throws',
      reason: 'ModuleFailed',
      newer: { before: "throw new Error('not today');" },
      says: 'Error: not today',
    },
    {
      what: 'a preset of an unknown kind',
      reason: 'PresetKindUnknown',
      newer: { presets: [{ apiVersion: 'nowhere.example.com/v1', kind: 'Thing', metadata: { name: 'a' } }] },
      says: 'nowhere.example.com',
    },
    {
      what: 'a preset that is refused',
      reason: 'PresetRefused',
      newer: { presets: [note('kept', 'other'), { ...note('kept', 'bad'), spec: { title: 5 } }] },
      says: 'bad',
    },
    {
      what: 'a controller that throws at its start',
      reason: 'ControllersFailed',
      newer: {
        presets: [note('kept', 'other')],
        controllers: "[{ ...seeing, begin: () => { throw new RangeError('no beginning'); } }]",
      },
      says: 'the controller notes could not be started: RangeError: no beginning',
    },
  ];
  test.each(cases)('$what', async ({ reason, newer, says }) => {
    await write('kept', { version: '1.0.0', presets: [note('kept', 'shipped')] });
    host = new TestPluginHost(client, folder);
    const before = await startedAs(client, 'kept', '1.0.0');
    const { spec } = await client.get(definitionType, pluginKey('notes.kept.example.com'));
    const poll = new Poll('kept');
    await write('kept', {
      version: '2.0.0',
      fields: 'stars: Type.Optional(Type.Integer()),',
      models: '[Note, Extra]',
      ...newer,
    });
    const refused = await waitForPlugin(client, 'kept', (plugin) => condition(plugin, 'Reloaded') !== undefined);
    expect(condition(refused, 'Reloaded')).toBe(`False ${reason}`);
    expect(refused.status!.conditions!.find(({ type }) => type === 'Reloaded')!.message).toMatch(
      /^version 2\.0\.0 could not be started, and 1\.0\.0 goes on: /,
    );
    expect(refused.status!.conditions!.find(({ type }) => type === 'Reloaded')!.message).toContain(says);
    expect([
      refused.status!.phase,
      refused.status!.version,
      refused.status!.models,
      condition(refused, 'Healthy'),
    ]).toEqual(['Started', '1.0.0', before.status!.models, 'True Running']);
    // Everything is restored: schema, models, presets, controllers.
    expect((await client.get(definitionType, pluginKey('notes.kept.example.com'))).spec).toEqual(spec);
    const extra = await client.get(definitionType, pluginKey('extras.kept.example.com')).catch(() => undefined);
    expect(extra?.spec.versions.some(({ served }) => served) ?? false).toBe(false);
    const { items } = await client.list(noteType('kept'));
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['shipped']);
    await client.create(noteType('kept'), note('kept', 'mine'));
    await seenBy('kept', 'mine', '1.0.0');
    await client.delete(noteType('kept'), pluginKey('mine'));

    await write('kept', { version: '2.1.0', presets: [note('kept', 'shipped')] });
    const fixed = await startedAs(client, 'kept', '2.1.0');
    expect(condition(fixed, 'Reloaded')).toBeUndefined();
    await poll.until('"2.1.0"');
    expect(await poll.stop()).toEqual(['"1.0.0"', '"2.1.0"']);
    expect(poll.workers).toBeLessThanOrEqual(2);
    await enable(client, 'kept', false);
    await inPhase(client, 'kept', 'Disabled');
  });

  test('and is retried, until the files are those that run', async () => {
    await write('undone', { version: '1.0.0' });
    host = new TestPluginHost(client, folder);
    await startedAs(client, 'undone', '1.0.0');
    await write('undone', { version: '1.0.0', before: 'throw new Error(String(Math.random()));' });
    const first = await waitForPlugin(
      client,
      'undone',
      (plugin) => condition(plugin, 'Reloaded') === 'False ModuleFailed',
    );
    const messageOf = (plugin: typeof first): string | undefined =>
      plugin.status!.conditions!.find(({ type }) => type === 'Reloaded')?.message;
    await waitForPlugin(
      client,
      'undone',
      (plugin) => messageOf(plugin) !== undefined && messageOf(plugin) !== messageOf(first),
    );
    await write('undone', { version: '1.0.0' });
    const again = await waitForPlugin(client, 'undone', (plugin) => condition(plugin, 'Reloaded') === undefined);
    expect([again.status!.phase, condition(again, 'FilesValid'), await ask('undone')]).toEqual([
      'Started',
      'True Valid',
      '"1.0.0"',
    ]);
  });
});

test('a plugin that is disabled during a reload is stopped', async () => {
  await write('left', { version: '1.0.0' });
  host = new TestPluginHost(client, folder);
  await startedAs(client, 'left', '1.0.0');
  await write('left', { version: '2.0.0', before: 'await new Promise(() => setInterval(() => undefined, 1000));' });
  while (threadCount() < 2) await new Promise((resolve) => setImmediate(resolve));
  await enable(client, 'left', false);
  await inPhase(client, 'left', 'Disabled');
  expect([await ask('left'), threadCount()]).toEqual(['ServiceUnavailable', 0]);
});

test('a plugin that is disabled and enabled again during a reload runs', async () => {
  await write('hasty', { version: '1.0.0' });
  host = new TestPluginHost(client, folder);
  await startedAs(client, 'hasty', '1.0.0');
  const type = noteType('hasty');
  // The presets wait for an object that is being deleted.
  await client.create(type, {
    ...note('hasty', 'held'),
    metadata: { name: 'held', finalizers: ['test.example.com/held'] },
  });
  await client.delete(type, pluginKey('held'));
  await write('hasty', { version: '2.0.0', models: '[Note, Extra]', presets: [note('hasty', 'held')] });
  while ((await client.get(definitionType, pluginKey('extras.hasty.example.com')).catch(() => undefined)) === undefined)
    await new Promise((resolve) => setImmediate(resolve));
  await enable(client, 'hasty', false);
  await enable(client, 'hasty', true);
  await client
    .patch(type, pluginKey('held'), { type: 'merge', patch: { metadata: { finalizers: null } } })
    .catch(() => undefined);
  await startedAs(client, 'hasty', '2.0.0');
  await seenBy('hasty', 'held', '2.0.0');
  expect(await ask('hasty')).toBe('"2.0.0"');
  while (threadCount() > 1) await new Promise((resolve) => setImmediate(resolve));
});

test('failing reconciles are reported in a condition until they succeed, as are controllers that cannot watch their types', async () => {
  const reconcile =
    "const { spec } = await client.get(Note, { namespace: '', name }) as any; if (spec.title === 'bad') throw new RangeError('a bad title');";
  await write('failing', {
    version: '1.0.0',
    reconcile,
    controllers:
      "[seeing, controllerFor({ group: 'absent.example.com', version: 'v1', kind: 'Thing', plural: 'things', namespaced: false, hasStatusSubresource: false } as any).reconcile(async () => undefined)]",
  });
  host = new TestPluginHost(client, folder);
  const started = await inPhase(client, 'failing', 'Started');
  expect(condition(started, 'Healthy')).toBe('False ControllersNotRunning');
  expect(started.status!.conditions!.find(({ type }) => type === 'Healthy')!.message).toMatch(
    /^the controller things does not run: Error: things\.absent\.example\.com cannot be followed; cause: /,
  );
  const type = noteType('failing');
  await client.create(type, note('failing', 'one', { title: 'bad' }));
  const failing = await waitForPlugin(
    client,
    'failing',
    (plugin) => condition(plugin, 'ReconcilesSucceed') === 'False Failing',
  );
  const { message, lastTransitionTime } = failing.status!.conditions!.find(
    (each) => each.type === 'ReconcilesSucceed',
  )!;
  expect(message).toMatch(
    /^1 object fails since .*; the last is \/one, of the controller notes, at attempt \d+: RangeError: a bad title \(.*index\.ts:\d+:\d+\)$/,
  );
  expect(lastTransitionTime).toMatch(/^20/);
  const versions = [
    { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' as const } } },
  ];
  await client.create(definitionType, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.absent.example.com' },
    spec: {
      group: 'absent.example.com',
      scope: 'Cluster',
      names: { plural: 'things', singular: 'thing', kind: 'Thing' },
      versions,
    },
  });
  await client.patch(type, pluginKey('one'), { type: 'merge', patch: { spec: { title: 'good' } } });
  const well = await waitForPlugin(
    client,
    'failing',
    (plugin) => condition(plugin, 'ReconcilesSucceed') === undefined && condition(plugin, 'Healthy') === 'True Running',
  );
  expect(well.status!.phase).toBe('Started');
});
