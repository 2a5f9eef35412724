import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  isStatusError,
  newForbidden,
  type AnyObject,
  type Client,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';
import { definitionType, pluginType, type CustomResourceDefinition } from '#pkg/apis/index';
import { silentLog } from '#pkg/database/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { registerModel } from '../../model/register-model.ts';
import { PresetReconciler } from '../../preset/preset-reconciler.ts';
import { Gadget, Widget, widget } from '../../preset/presettest/widget-model.ts';
import { pluginKey, PluginRecord } from '../record/plugin-record.ts';
import { stopPlugin, undoStart } from './stop-plugin.ts';

let env: TestEnv;
let client: Client;

beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await registerModel(client, Widget);
});
afterAll(() => env?.stop());

const log = { ...silentLog, debug: () => undefined };
const { signal } = new AbortController();
const namespaceType: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  hasStatusSubresource: true,
};
const gadgets = 'gadgets.preset.example.com';

async function newRecord(name: string): Promise<PluginRecord> {
  return new PluginRecord(
    client,
    await client.create(pluginType, {
      apiVersion: 'plugin.svc.run/v1alpha1',
      kind: 'Plugin',
      metadata: { name },
      spec: { version: '1.0.0' },
    }),
  );
}

const read = async (name: string): Promise<PluginRecord> =>
  new PluginRecord(client, await client.get(pluginType, pluginKey(name)));
const stop = (record: PluginRecord): Promise<void> =>
  stopPlugin({ record, client, log, signal, stopWorker: async () => undefined });

function ship(record: PluginRecord, objects: readonly AnyObject[]): Promise<unknown> {
  const presets = objects.map((object, i) => ({
    file: 'presets/a.yaml',
    document: i + 1,
    object: structuredClone(object) as never,
  }));
  return new PresetReconciler({ client, log, waitMs: 300 }).apply({
    plugin: record.name,
    presets,
    inventory: record.inventory,
    record: record.recordInventory,
    signal,
  });
}

async function find(type: ResourceType, name: string, namespace = ''): Promise<Stored<AnyObject> | undefined> {
  try {
    return await client.get(type, { namespace, name });
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

test('a failed start leaves a namespace with objects of users, even if their kind is not served then', async () => {
  const record = await newRecord('blog');
  await registerModel(client, Gadget, { plugin: 'blog' });
  await ship(record, [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'blog' } }]);
  await record.change({ phase: 'Started', models: [gadgets] });
  await client.create(Gadget, {
    apiVersion: 'preset.example.com/v1',
    kind: 'Gadget',
    metadata: { name: 'mine', namespace: 'blog' },
    spec: {},
  });
  await stop(record);
  expect(record.status.conditions).toContainEqual(
    expect.objectContaining({
      type: 'PresetsApplied',
      reason: 'SomeLeft',
      message: `these could not be removed: Namespace blog (other objects are in it: ${gadgets})`,
    }),
  );
  // Enabled again, with a module that does not build.
  await undoStart({ record, client, log, signal });
  expect((await find(namespaceType, 'blog'))?.metadata.deletionTimestamp).toBeUndefined();
  expect(record.inventory.map(({ kind }) => kind)).toEqual(['Namespace']);
  // Fixed.
  await registerModel(client, Gadget, { plugin: 'blog' });
  expect(await find(Gadget, 'mine', 'blog')).toBeDefined();
});

describe('a preset definition that belongs to the user', () => {
  const definition: CustomResourceDefinition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'keepers.keep.example.com', labels: { 'svc.run/do-not-overwrite': 'true' } },
    spec: {
      group: 'keep.example.com',
      scope: 'Cluster',
      names: { plural: 'keepers', kind: 'Keeper' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };
  const objects: AnyObject[] = [
    definition,
    { apiVersion: 'keep.example.com/v1', kind: 'Keeper', metadata: { name: 'a' } },
  ];
  const served = async (): Promise<boolean[]> =>
    (await client.get(definitionType, pluginKey(definition.metadata.name))).spec.versions.map(
      (version) => version.served,
    );

  test.each<[string, () => Promise<unknown>]>([
    ['with its label', async () => undefined],
    [
      'whose label a user removed',
      () =>
        client.patch(definitionType, pluginKey(definition.metadata.name), {
          type: 'merge',
          patch: { metadata: { labels: { 'svc.run/do-not-overwrite': null } } },
        }),
    ],
  ])('%s, is still served after the stop, and the plugin can start again', async (_case, act) => {
    const record = await read('keep').catch(() => newRecord('keep'));
    await ship(record, objects);
    await act();
    await stop(record);
    expect([await served(), record.inventory]).toEqual([[true], []]);
    await ship(record, objects);
    await undoStart({ record, client, log, signal });
    expect(await served()).toEqual([true]);
  });
});

describe('an inventory that another leader has stored meanwhile', () => {
  test('is used by a stop, also by one that began before', async () => {
    await ship(await newRecord('late'), [widget('adopted')]);
    const stale = await read('late');
    await stale.change({ phase: 'Stopping' });
    await client.delete(Widget, pluginKey('adopted'));
    await client.create(Widget, widget('adopted') as never);
    await ship(await read('late'), [widget('adopted')]);
    await stop(stale);
    const left = await find(Widget, 'adopted');
    expect([left?.metadata.name, left?.metadata.labels]).toEqual(['adopted', undefined]);
  });

  test('is not overwritten', async () => {
    const stale = await newRecord('slow');
    await ship(await read('slow'), [widget('of-the-other')]);
    await expect(ship(stale, [widget('of-its-own')])).rejects.toMatchObject({ reason: 'Conflict' });
    expect([(await read('slow')).inventory.map(({ name }) => name), await find(Widget, 'of-its-own')]).toEqual([
      ['of-the-other'],
      undefined,
    ]);
  });

  test('is no conflict if it is unchanged, and something else has changed', async () => {
    const record = await newRecord('busy');
    await client.patch(pluginType, pluginKey('busy'), { type: 'merge', patch: { spec: { enabled: true } } });
    await ship(record, [widget('busy')]);
    expect([record.spec.enabled, (await read('busy')).inventory.map(({ name }) => name)]).toEqual([true, ['busy']]);
  });
});

test('a stop ends with a report if a model cannot be taken out of service', async () => {
  const record = await newRecord('kept');
  await registerModel(client, Gadget, { plugin: 'blog' }).catch(() => undefined);
  await client.patch(definitionType, pluginKey(gadgets), {
    type: 'merge',
    patch: { metadata: { labels: { 'svc.run/plugin': 'kept' } } },
  });
  const refusing = wrapClient(client, {
    update: () =>
      Promise.reject(
        newForbidden({ group: definitionType.group, resource: definitionType.plural }, gadgets, 'not today'),
      ),
  });
  await stopPlugin({ record, client: refusing, log, signal, stopWorker: async () => undefined });
  expect(record.status.phase).toBe('Disabled');
  expect(record.status.conditions).toContainEqual(
    expect.objectContaining({
      type: 'ModelsServed',
      status: 'True',
      reason: 'SomeLeft',
      message: expect.stringMatching(/gadgets\.preset\.example\.com \(.*not today/),
    }),
  );
});

/** Takes the model over from the plugin of another test. */
async function registerGadgets(plugin: string): Promise<void> {
  if ((await find(definitionType, gadgets)) !== undefined)
    await client.patch(definitionType, pluginKey(gadgets), {
      type: 'merge',
      patch: { metadata: { labels: { 'svc.run/plugin': plugin } } },
    });
  await registerModel(client, Gadget, { plugin });
}

const areGadgetsServed = async (): Promise<boolean> =>
  (await client.get(definitionType, pluginKey(gadgets))).spec.versions.some(({ served }) => served);

test('a stop removes presets first, then ends the worker, and takes models out of service last', async () => {
  const record = await newRecord('ordered');
  await ship(record, [widget('ordered')]);
  await registerGadgets('ordered');
  const seen: unknown[] = [];
  await stopPlugin({
    record,
    client,
    log,
    signal,
    stopWorker: async () => void seen.push((await find(Widget, 'ordered')) === undefined, await areGadgetsServed()),
  });
  expect([...seen, await areGadgetsServed(), record.status.phase]).toEqual([true, true, false, 'Disabled']);
});

test('a failed start keeps the presets and models of an earlier one', async () => {
  const record = await newRecord('again');
  await ship(record, [widget('again')]);
  await registerGadgets('again');
  await record.change({ models: [gadgets] });
  await undoStart({ record, client, log, signal });
  expect(await find(Widget, 'again')).toBeDefined();
  expect(await areGadgetsServed()).toBe(true);
});
