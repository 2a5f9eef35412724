import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  isStatusError,
  newServiceUnavailable,
  type AnyObject,
  type Client,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';
import { definitionType, namespaceModel, type CustomResourceDefinition } from '#pkg/apis/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { silentLog } from '#pkg/database/index';
import { registerModel } from '../model/register-model.ts';
import { unregisterModel } from '../model/unregister-model.ts';
import { PresetReconciler } from './preset-reconciler.ts';
import { CrashScheduler } from './presettest/interrupted-client.ts';
import { ShippingPlugin } from './presettest/shipping-plugin.ts';
import { Gadget, Widget, widget } from './presettest/widget-model.ts';

let env: TestEnv;
let client: Client;
let count = 0;

beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await registerModel(client, Widget);
  await registerModel(client, Gadget);
});
afterAll(() => env?.stop());

const held = 'example.com/held';
const namespaceType: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: namespaceModel.names.plural,
  namespaced: false,
  hasStatusSubresource: true,
};

/** Unique names for each test. */
function fresh(waitMs?: number): { plugin: ShippingPlugin; name: string } {
  count += 1;
  return { plugin: new ShippingPlugin(client, `plugin-${count}`, waitMs), name: `life-${count}` };
}

async function find(type: ResourceType, name: string, namespace = ''): Promise<Stored<AnyObject> | undefined> {
  try {
    return await client.get(type, { namespace, name });
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

const patch = (type: ResourceType, name: string, change: object, namespace = '') =>
  client.patch(type, { namespace, name }, { type: 'merge', patch: change as never });
const removeFinalizers = (type: ResourceType, name: string, namespace = '') =>
  patch(type, name, { metadata: { finalizers: null } }, namespace);

const gadget = (name: string, namespace?: string): AnyObject => ({
  apiVersion: 'preset.example.com/v1',
  kind: 'Gadget',
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  spec: { color: 'red' },
});
const namespace = (name: string): AnyObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

function definition(name: string, more: { served?: boolean } = {}): CustomResourceDefinition {
  const kind = `Thing${name.replaceAll(/\W/gu, '')}`;
  const schema = {
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    },
  } as const;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.toLowerCase()}s.things.example.com` },
    spec: {
      group: 'things.example.com',
      scope: 'Cluster',
      names: { plural: `${kind.toLowerCase()}s`, kind },
      versions: [{ name: 'v1', served: more.served ?? true, storage: true, schema }],
    },
  };
}

function typeOf({ spec }: CustomResourceDefinition): ResourceType {
  return {
    group: spec.group,
    version: 'v1',
    kind: spec.names.kind,
    plural: spec.names.plural,
    namespaced: spec.scope === 'Namespaced',
    hasStatusSubresource: false,
  };
}

function namespaced(cluster: CustomResourceDefinition): CustomResourceDefinition {
  return { ...cluster, spec: { ...cluster.spec, scope: 'Namespaced' } };
}

const inNamespace = (object: AnyObject, name: string): AnyObject => ({
  ...object,
  metadata: { ...object.metadata, namespace: name },
});

const thing = ({ spec }: CustomResourceDefinition, name: string): AnyObject => ({
  apiVersion: 'things.example.com/v1',
  kind: spec.names.kind,
  metadata: { name },
  spec: { a: 1 },
});

async function removeDefinition({ metadata }: CustomResourceDefinition): Promise<void> {
  await client.delete(definitionType, { namespace: '', name: metadata.name });
  while ((await find(definitionType, metadata.name)) !== undefined) await new Promise(setImmediate);
}

describe('nothing is written when', () => {
  test.each<[string, (name: string) => AnyObject, string, RegExp]>([
    [
      'a kind is unknown',
      () => ({ apiVersion: 'nowhere.example.com/v1', kind: 'Nothing', metadata: { name: 'a' } }),
      'PresetKindUnknown',
      /^presets\/all\.yaml, document 2: the kind Nothing of nowhere\.example\.com\/v1 is not known/,
    ],
    [
      'a version is not served',
      () => ({ apiVersion: 'preset.example.com/v9', kind: 'Widget', metadata: { name: 'a' } }),
      'PresetKindUnknown',
      /it is served in v1$/,
    ],
    [
      'a cluster-scoped kind has a namespace',
      () => ({ ...widget('a'), metadata: { name: 'a', namespace: 'default' } }),
      'PresetsInvalid',
      /metadata\.namespace may not be/,
    ],
    [
      'an object has a status, which is written separately',
      () => ({ ...widget('a'), status: { ready: true } }),
      'PresetsInvalid',
      /status may not be/,
    ],
    [
      'a definition is invalid',
      () => ({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'a.b' },
        spec: {},
      }),
      'PresetsInvalid',
      /it is no definition/,
    ],
    [
      'an object occurs in two versions',
      (name) => ({ ...widget(name), spec: { size: 1 } }),
      'PresetsInvalid',
      /is in presets\/all\.yaml, document 1 as well/,
    ],
    ['a name is invalid', () => widget('a/b'), 'BadRequest', /name/],
  ])('%s', async (_case, second, reason, message) => {
    const { plugin, name } = fresh();
    const killer = new CrashScheduler();
    await expect(plugin.start([widget(name), second(name)], { killer })).rejects.toMatchObject({
      reason,
      message: expect.stringMatching(message),
    });
    expect([killer.steps, await find(Widget, name)]).toEqual([0, undefined]);
  });

  test('an object belongs to another plugin, even with the label', async () => {
    const { plugin: first, name } = fresh();
    const { plugin: second } = fresh();
    const keep = { 'svc.run/do-not-overwrite': 'true' };
    for (const labels of [{}, keep]) {
      await first.start([widget(name, { color: 'first' }, labels)]);
      const killer = new CrashScheduler();
      const refused = second.start([widget(`${name}-free`), widget(name, { color: 'second' }, labels)], { killer });
      await expect(refused).rejects.toMatchObject({
        reason: 'PresetTaken',
        message: expect.stringMatching(`document 2: Widget ${name} belongs to the plugin ${first.name}:`),
      });
      expect(killer.steps).toBe(0);
      await first.stop();
    }
    await client.delete(Widget, { namespace: '', name });
  });

  test('the plugin registers the model whose definition it ships', async () => {
    const { plugin, name } = fresh();
    const shipped = definition(name);
    await expect(plugin.start([shipped], { models: [shipped.metadata.name] })).rejects.toMatchObject({
      reason: 'PresetsInvalid',
    });
  });
});

test('metadata of others, the status, and defaults of the schema are kept; other fields are those of the preset', async () => {
  const { plugin, name } = fresh();
  const shipped = {
    ...widget(name, { color: 'red' }),
    metadata: { name, labels: { l: 'new' }, annotations: { a: 'new' }, finalizers: [held] },
  };
  await client.create(Widget, {
    ...widget(name, { color: 'blue', size: 7, slug: name }),
    metadata: {
      name,
      labels: { l: 'old', m: 'mine' },
      annotations: { a: 'old', b: 'mine' },
      finalizers: ['example.com/mine'],
    },
  } as never);
  await client.patchStatus(Widget, { namespace: '', name }, { type: 'merge', patch: { status: { ready: true } } });
  await plugin.start([shipped]);
  const stored = (await find(Widget, name))!;
  expect([stored.spec, stored.status]).toEqual([{ color: 'red', size: 3 }, { ready: true }]);
  const { labels, annotations, finalizers } = stored.metadata;
  expect({ labels, annotations, finalizers }).toEqual({
    labels: { l: 'new', m: 'mine', 'svc.run/plugin': plugin.name },
    annotations: { a: 'new', b: 'mine' },
    finalizers: ['example.com/mine', held],
  });
  await removeFinalizers(Widget, name);
});

test('a namespaced object without a namespace is in default; namespaces and definitions are created first', async () => {
  const { plugin, name } = fresh();
  const shipped = definition(name);
  await plugin.start([
    thing(shipped, name),
    gadget(name),
    gadget(name, name),
    { ...shipped, status: { conditions: [] } },
    namespace(name),
  ]);
  expect([
    await find(Gadget, name, 'default'),
    await find(Gadget, name, name),
    await find(typeOf(shipped), name),
  ]).not.toContain(undefined);
  expect(plugin.inventory.map(({ kind }) => kind)).toEqual([
    'Namespace',
    'CustomResourceDefinition',
    'Gadget',
    'Gadget',
    shipped.spec.names.kind,
  ]);
  expect(plugin.inventory.map((record) => record.namespace)).toEqual([
    undefined,
    undefined,
    'default',
    name,
    undefined,
  ]);
  const { left } = await plugin.stop({ timeoutMs: 5000 });
  expect([left, await find(Gadget, name, 'default'), await find(namespaceType, name)]).toEqual([
    [],
    undefined,
    undefined,
  ]);
});

describe('a refused object', () => {
  test.each<[string, (name: string) => AnyObject, RegExp]>([
    ['against its schema', (name) => widget(name, { size: 10 }), /was refused: .*spec\.size/],
    ['with the unique value of another', (name) => widget(name, { slug: 'taken' }), /was refused: .*spec\.slug/],
    [
      'in a namespace that does not exist',
      (name) => gadget(name, 'nowhere'),
      /Gadget nowhere\/.* was refused: namespaces "nowhere" not found/,
    ],
    ['with a reserved label', (name) => widget(name, {}, { 'svc.run/mine': 'x' }), /was refused: .*reserved/],
  ])('%s names its position, and the start can be repeated', async (_case, bad, message) => {
    const { plugin, name } = fresh();
    await client.create(Widget, widget('taken', { slug: 'taken' }) as never).catch(() => undefined);
    const refused = plugin.start([widget(`${name}-first`), bad(name)]);
    await expect(refused).rejects.toMatchObject({
      reason: 'PresetRefused',
      message: expect.stringMatching(/^presets\/all\.yaml, document 2: /),
    });
    await expect(refused).rejects.toThrow(message);
    expect(await plugin.stop()).toEqual({ left: [] });
    expect([await find(Widget, `${name}-first`), plugin.inventory]).toEqual([undefined, []]);
  });
});

describe('a preset that is no longer shipped', () => {
  test('is removed at the next start, before the new ones are created', async () => {
    const { plugin, name } = fresh();
    await plugin.start([widget(`${name}-old`, { slug: name }), widget(`${name}-both`)]);
    await plugin.start([widget(`${name}-new`, { slug: name }), widget(`${name}-both`)]);
    expect([await find(Widget, `${name}-old`), plugin.inventory.map((record) => record.name)]).toEqual([
      undefined,
      [`${name}-new`, `${name}-both`],
    ]);
    await plugin.start([]);
    expect([await find(Widget, `${name}-new`), await find(Widget, `${name}-both`), plugin.inventory]).toEqual([
      undefined,
      undefined,
      [],
    ]);
  });

  test('stays if it belongs to a user, or has the label', async () => {
    const { plugin, name } = fresh();
    await client.create(Widget, widget(`${name}-mine`) as never);
    await plugin.start([
      widget(`${name}-mine`),
      widget(`${name}-kept`, {}, { 'svc.run/do-not-overwrite': 'true' }),
      widget(`${name}-labelled`),
    ]);
    await patch(Widget, `${name}-labelled`, { metadata: { labels: { 'svc.run/do-not-overwrite': 'true' } } });
    await plugin.start([]);
    expect((await find(Widget, `${name}-mine`))?.metadata.labels).toBeUndefined();
    expect([await find(Widget, `${name}-kept`), await find(Widget, `${name}-labelled`)]).not.toContain(undefined);
    expect(plugin.inventory).toEqual([]);
  });

  test('and is held by a finalizer does not prevent the start; the next start tries again', async () => {
    const { plugin, name } = fresh(3000);
    await plugin.start([widget(`${name}-old`)]);
    await patch(Widget, `${name}-old`, { metadata: { finalizers: [held] } });
    await plugin.start([widget(`${name}-new`)]);
    expect(plugin.inventory.map((record) => record.name)).toEqual([`${name}-new`, `${name}-old`]);
    await removeFinalizers(Widget, `${name}-old`);
    await plugin.start([widget(`${name}-new`)]);
    expect(plugin.inventory.map((record) => record.name)).toEqual([`${name}-new`]);
  });

  test('in another version is the same object', async () => {
    const { plugin, name } = fresh();
    plugin.inventory = [{ apiVersion: 'preset.example.com/v0', kind: 'Widget', name }];
    await client.create(Widget, widget(name, {}, { 'svc.run/plugin': plugin.name }) as never);
    const { metadata } = (await find(Widget, name))!;
    await plugin.start([widget(name)]);
    expect((await find(Widget, name))!.metadata.uid).toBe(metadata.uid);
    expect(plugin.inventory).toEqual([{ apiVersion: 'preset.example.com/v1', kind: 'Widget', name }]);
  });
});

describe('a finalizer', () => {
  test('holds a removal, which is waited for, reported, and completed by the next stop', async () => {
    const { plugin, name } = fresh();
    await plugin.start([widget(name), widget(`${name}-free`)]);
    await patch(Widget, name, { metadata: { finalizers: [held] } });
    const { left } = await plugin.stop({ timeoutMs: 3000 });
    expect(left).toEqual([
      {
        record: { apiVersion: 'preset.example.com/v1', kind: 'Widget', name },
        why: `it is being deleted, and held by ${held}`,
      },
    ]);
    expect(plugin.inventory).toEqual(left.map(({ record }) => record));
    expect(await find(Widget, `${name}-free`)).toBeUndefined();
    const stopped = plugin.stop();
    await removeFinalizers(Widget, name);
    expect([await stopped, plugin.inventory]).toEqual([{ left: [] }, []]);
  });

  test('holds a start', async () => {
    const { plugin, name } = fresh(3000);
    await plugin.start([widget(name)]);
    await patch(Widget, name, { metadata: { finalizers: [held] } });
    await plugin.stop({ timeoutMs: 3000 });
    await expect(plugin.start([widget(name)])).rejects.toMatchObject({
      reason: 'PresetTerminating',
      message: expect.stringMatching(`Widget ${name} is still being deleted after 3000 ms: it is held by ${held}`),
    });
    const started = plugin.start([widget(name)]);
    await removeFinalizers(Widget, name);
    await started;
    expect((await find(Widget, name))?.metadata.deletionTimestamp).toBeUndefined();
    expect(plugin.inventory).toHaveLength(1);
  });

  test('that is removed lets a user recreate the object, which then belongs to the user', async () => {
    const { plugin, name } = fresh();
    await plugin.start([widget(name)]);
    await patch(Widget, name, { metadata: { finalizers: [held] } });
    const stopped = plugin.stop();
    await untilDeleting(name);
    await removeFinalizers(Widget, name);
    await client.create(Widget, widget(name, { color: 'mine' }, { 'svc.run/plugin': plugin.name }) as never);
    expect(await stopped).toEqual({ left: [] });
    expect((await find(Widget, name))?.spec).toMatchObject({ color: 'mine' });
  });
});

async function untilDeleting(name: string): Promise<void> {
  while ((await find(Widget, name))?.metadata.deletionTimestamp === undefined) await new Promise(setImmediate);
}

describe('a namespace', () => {
  test('with objects of others is kept, with all its objects', async () => {
    const { plugin, name } = fresh();
    await plugin.start([namespace(name), gadget(name, name)]);
    await client.create(Gadget, gadget(`${name}-mine`, name) as never);
    const { left } = await plugin.stop();
    expect(left).toEqual([
      {
        record: { apiVersion: 'v1', kind: 'Namespace', name },
        why: 'other objects are in it: gadgets.preset.example.com',
      },
    ]);
    expect([await find(Gadget, name, name), (await find(Gadget, `${name}-mine`, name))?.metadata.name]).toEqual([
      undefined,
      `${name}-mine`,
    ]);
    await client.delete(Gadget, { namespace: name, name: `${name}-mine` });
    expect(await plugin.stop()).toEqual({ left: [] });
  });

  test('with objects of an unserved kind is kept, because they cannot be listed', async () => {
    const { plugin, name } = fresh();
    const { plugin: other } = fresh();
    const shipped = namespaced(definition(name));
    await other.start([shipped]);
    await plugin.start([namespace(name)]);
    await client.create(typeOf(shipped), inNamespace(thing(shipped, 'mine'), name));
    await other.stop();
    const { left } = await plugin.stop();
    expect(left.map(({ why }) => why)).toEqual([
      expect.stringMatching(`^objects may be in it whose kinds are not served at present: .*${shipped.metadata.name}`),
    ]);
    expect((await find(namespaceType, name))?.metadata.deletionTimestamp).toBeUndefined();
    await other.start([shipped]);
    await client.delete(typeOf(shipped), { namespace: name, name: 'mine' });
    await other.stop();
    // A kind that is not served does not block a namespace without objects of it.
    expect([await plugin.stop(), await find(namespaceType, name)]).toEqual([{ left: [] }, undefined]);
    await removeDefinition(shipped);
  });

  test('with only automatic objects is deleted, and kept if there may be more', async () => {
    const { plugin, name } = fresh();
    const { plugin: other } = fresh();
    const shipped = namespaced(definition(name));
    await other.start([shipped]);
    await other.stop();
    await plugin.start([namespace(name)]);
    const leaseType: ResourceType = {
      group: 'coordination.k8s.io',
      version: 'v1',
      kind: 'Lease',
      plural: 'leases',
      namespaced: true,
      hasStatusSubresource: false,
    };
    await client.create(
      leaseType,
      inNamespace({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'a' }, spec: {} }, name),
    );
    expect((await plugin.stop()).left.map(({ why }) => why)).toEqual([
      `objects may be in it whose kinds are not served at present: ${shipped.metadata.name}`,
    ]);
    await removeDefinition(shipped);
    expect((await plugin.stop({ timeoutMs: 3000 })).left.map(({ why }) => why)).toEqual([
      'it is being deleted, and held by kubernetes',
    ]);
  });

  test('that is no longer shipped is deleted, even if a definition is created that is not served yet', async () => {
    const { plugin, name } = fresh();
    await plugin.start([namespace(name)]);
    const shipped = namespaced(definition(name));
    await plugin.start([shipped]);
    expect([await find(namespaceType, name), plugin.inventory.map(({ kind }) => kind)]).toEqual([
      undefined,
      ['CustomResourceDefinition'],
    ]);
  });
});

describe('a definition among the presets', () => {
  test('is no longer served after the stop, keeps its objects, and is served again at the next start', async () => {
    const { plugin, name } = fresh();
    const shipped = definition(name);
    const type = typeOf(shipped);
    await plugin.start([shipped, thing(shipped, 'preset')]);
    await client.create(type, thing(shipped, 'mine'));
    expect(await plugin.stop()).toEqual({ left: [] });
    expect([await find(type, 'mine'), plugin.inventory]).toEqual([undefined, []]);
    expect(
      (await client.get(definitionType, { namespace: '', name: shipped.metadata.name })).spec.versions[0]!.served,
    ).toBe(false);
    expect(await plugin.start([shipped, thing(shipped, 'preset')])).toEqual({ adopted: [] });
    expect([await find(type, 'mine'), await find(type, 'preset')]).not.toContain(undefined);
    const { metadata } = await client.get(definitionType, { namespace: '', name: shipped.metadata.name });
    expect(metadata.annotations).toBeUndefined();
    const killer = new CrashScheduler();
    await plugin.start([shipped, thing(shipped, 'preset')], { killer });
    expect(killer.steps).toBe(0);
  });

  test('that belongs to the user is still served after the stop; if it is out of service, the next start serves it again', async () => {
    const { plugin, name } = fresh();
    const shipped = definition(name);
    const kept = { ...shipped, metadata: { ...shipped.metadata, labels: { 'svc.run/do-not-overwrite': 'true' } } };
    await plugin.start([kept, thing(shipped, 'a')]);
    await plugin.stop();
    await client.list(typeOf(shipped));
    await unregisterModel(client, shipped.metadata.name, { plugin: plugin.name });
    await plugin.start([kept, thing(shipped, 'a')]);
    const { metadata, spec } = await client.get(definitionType, { namespace: '', name: shipped.metadata.name });
    expect([
      metadata.annotations ?? {},
      spec.versions.map(({ served }) => served),
      (await find(typeOf(shipped), 'a'))?.metadata.name,
    ]).toEqual([{}, [true], 'a']);
  });

  test('that a user has taken out of service, and labelled, makes the start fail with a message', async () => {
    const { plugin, name } = fresh();
    const shipped = definition(name);
    await plugin.start([shipped]);
    await patch(definitionType, shipped.metadata.name, {
      metadata: { labels: { 'svc.run/do-not-overwrite': 'true' } },
      spec: { versions: shipped.spec.versions.map((version) => ({ ...version, served: false })) },
    });
    await expect(plugin.start([shipped, thing(shipped, 'a')])).rejects.toMatchObject({
      reason: 'PresetRefused',
      message: expect.stringMatching(/is not served: no version of it is served$/),
    });
  });

  test('of a user is still served', async () => {
    const { plugin, name } = fresh();
    const shipped = definition(name);
    await client.create(definitionType, shipped);
    for (let i = 0; i < 2; i += 1) {
      expect((await plugin.start([shipped])).adopted.map((record) => record.name)).toEqual([shipped.metadata.name]);
      expect(await plugin.stop()).toEqual({ left: [] });
      await client.list(typeOf(shipped));
    }
  });

  test('that the plugin now registers by itself is left to the registration', async () => {
    const { plugin, name } = fresh();
    const shipped = definition(name);
    await plugin.start([shipped]);
    await plugin.start([], { models: [shipped.metadata.name] });
    await client.list(typeOf(shipped));
    expect(plugin.inventory).toEqual([]);
  });

  test('is served as long as an object of its kind is being deleted', async () => {
    const { plugin, name } = fresh();
    const shipped = definition(name);
    await plugin.start([shipped, { ...thing(shipped, 'a'), metadata: { name: 'a', finalizers: [held] } }]);
    expect((await plugin.stop({ timeoutMs: 3000 })).left.map(({ why }) => why)).toEqual([
      `it is being deleted, and held by ${held}`,
      expect.anything(),
    ]);
    await removeFinalizers(typeOf(shipped), 'a');
    expect(await plugin.stop()).toEqual({ left: [] });
  });

  test('whose names are taken makes the start fail', async () => {
    const { plugin, name } = fresh();
    const other = definition(name);
    await client.create(definitionType, other);
    const shipped = definition(`${name}x`);
    shipped.spec.names.kind = other.spec.names.kind;
    await expect(plugin.start([shipped])).rejects.toMatchObject({
      reason: 'PresetRefused',
      message: expect.stringMatching(/is not served: .* already in use by/),
    });
  });

  test('that was deleted removes the records of its objects', async () => {
    const { plugin, name } = fresh();
    const shipped = definition(name);
    await plugin.start([shipped, thing(shipped, 'a')]);
    await removeDefinition(shipped);
    expect([await plugin.stop(), plugin.inventory]).toEqual([{ left: [] }, []]);
  });

  test('that is out of service keeps the records of its objects', async () => {
    const { plugin, name } = fresh();
    const { plugin: other } = fresh();
    const shipped = definition(name);
    await other.start([shipped]);
    await plugin.start([thing(shipped, 'a')]);
    await other.stop();
    const { left } = await plugin.stop();
    expect(left.map(({ why }) => why)).toEqual(['its kind is not served at present']);
    await other.start([shipped]);
    expect([await plugin.stop(), await find(typeOf(shipped), 'a'), plugin.inventory]).toEqual([
      { left: [] },
      undefined,
      [],
    ]);
  });
});

test('the inventory is stored a few times, for any number of objects with their definition', async () => {
  const { name } = fresh();
  const shipped = definition(name);
  const objects = [shipped, ...Array.from({ length: 40 }, (_, i) => thing(shipped, `${name}-${i}`))];
  const stored: number[] = [];
  const record = async (records: readonly unknown[]): Promise<void> => void stored.push(records.length);
  const presets = objects.map((object, i) => ({ file: 'presets/all.yaml', document: i + 1, object: object as never }));
  await new PresetReconciler({ client, log: { ...silentLog, debug: () => undefined } }).apply({
    plugin: name,
    presets,
    inventory: [],
    record,
    signal: new AbortController().signal,
  });
  expect(stored).toEqual([1, 41]);
});

test('objects are deleted concurrently', async () => {
  const { plugin, name } = fresh();
  await plugin.start(Array.from({ length: 32 }, (_, i) => widget(`${name}-${i}`)));
  let underWay = 0;
  let most = 0;
  const counting = wrapClient(client, {
    delete: (...args) => {
      underWay += 1;
      most = Math.max(most, underWay);
      return client.delete(...args).finally(() => (underWay -= 1));
    },
  });
  const stopping = new ShippingPlugin(counting, plugin.name);
  stopping.inventory = plugin.inventory;
  expect([await stopping.stop(), most > 1 && most <= 16, await find(Widget, `${name}-0`)]).toEqual([
    { left: [] },
    true,
    undefined,
  ]);
});

test('a signal aborts a start and a stop', async () => {
  const { plugin, name } = fresh();
  await plugin.start([widget(name)]);
  await patch(Widget, name, { metadata: { finalizers: [held] } });
  const leaving = new AbortController();
  const reason = newServiceUnavailable('leaving');
  const stopped = plugin.stop({ signal: leaving.signal });
  await untilDeleting(name);
  leaving.abort(reason);
  await expect(stopped).rejects.toBe(reason);
  expect(plugin.inventory).toHaveLength(1);
  await expect(plugin.start([widget(name)], { signal: leaving.signal })).rejects.toBe(reason);
  await removeFinalizers(Widget, name);
});
