import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, type AnyObject, type Client, type Stored } from '#pkg/apimachinery/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { registerModel } from '../model/register-model.ts';
import { ShippingPlugin } from './presettest/shipping-plugin.ts';
import { Gadget, Widget, widget } from './presettest/widget-model.ts';

let env: TestEnv;
let client: Client;

beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await registerModel(client, Widget);
  await registerModel(client, Gadget);
});
afterAll(() => env?.stop());

const keep = { 'svc.run/do-not-overwrite': 'true' };
const keyOf = (name: string) => ({ namespace: '', name });

async function stored(name: string): Promise<Stored<AnyObject> | undefined> {
  try {
    return await client.get<AnyObject>(Widget, keyOf(name));
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** The parts of an object that a user sees: its colour, and the labels that the server did not set. */
async function seen(name: string): Promise<{ color: unknown; labels: Record<string, string> } | undefined> {
  const object = await stored(name);
  return object && { color: (object.spec as { color?: string }).color, labels: object.metadata.labels ?? {} };
}

function change(name: string, patch: object): Promise<unknown> {
  return client.patch(Widget, keyOf(name), { type: 'merge', patch: patch as never });
}

interface RuleCase {
  reason: string;
  /** Labels of the preset, whose colour is `shipped`. */
  labels?: Record<string, string>;
  /** What happened before the start, to the object `name`. */
  before?: (plugin: ShippingPlugin, name: string) => Promise<unknown>;
  started: { color: string; labels: Record<string, string>; adopted?: true };
  /** Absent if it was deleted. */
  stopped?: { color: string; labels: Record<string, string> };
}

const shippedAs = (name: string, labels?: Record<string, string>): AnyObject =>
  widget(name, { color: 'shipped' }, labels);
const person = (name: string, labels?: Record<string, string>) =>
  client.create(Widget, widget(name, { color: 'mine' }, labels) as never);

const rules: RuleCase[] = [
  { reason: 'an absent object is created', started: { color: 'shipped', labels: { ours: 'ours' } } },
  { reason: 'labels as shipped', labels: { a: 'b' }, started: { color: 'shipped', labels: { a: 'b', ours: 'ours' } } },
  {
    reason: 'an edit of a user is overwritten, their labels stay',
    before: async (plugin, name) => {
      await plugin.start([shippedAs(name)]);
      await change(name, { metadata: { labels: { mine: 'x' } }, spec: { color: 'mine', size: 5 } });
    },
    started: { color: 'shipped', labels: { mine: 'x', ours: 'ours' } },
  },
  {
    reason: 'shipped with the label: created where it is absent, and stays',
    labels: keep,
    started: { color: 'shipped', labels: { ...keep, ours: 'ours' } },
    stopped: { color: 'shipped', labels: { ...keep, ours: 'ours' } },
  },
  {
    reason: 'shipped with the label: an edit of a user stays',
    labels: keep,
    before: async (plugin, name) => {
      await plugin.start([shippedAs(name, keep)]);
      await change(name, { spec: { color: 'mine' } });
    },
    started: { color: 'mine', labels: { ...keep, ours: 'ours' } },
    stopped: { color: 'mine', labels: { ...keep, ours: 'ours' } },
  },
  {
    reason: "shipped with the label, which a user removed from the object: it stays the user's",
    labels: keep,
    before: async (plugin, name) => {
      await plugin.start([shippedAs(name, keep)]);
      await change(name, { metadata: { labels: { 'svc.run/do-not-overwrite': null } }, spec: { color: 'mine' } });
    },
    started: { color: 'mine', labels: { ours: 'ours' } },
    stopped: { color: 'mine', labels: { ours: 'ours' } },
  },
  {
    reason: "a user adds the label to the object: it is the user's from then on",
    before: async (plugin, name) => {
      await plugin.start([shippedAs(name)]);
      await change(name, { metadata: { labels: keep }, spec: { color: 'mine' } });
    },
    started: { color: 'mine', labels: { ...keep, ours: 'ours' } },
    stopped: { color: 'mine', labels: { ...keep, ours: 'ours' } },
  },
  {
    reason: 'the label with another value is ignored',
    labels: { 'svc.run/do-not-overwrite': 'false' },
    before: async (plugin, name) => {
      await plugin.start([shippedAs(name)]);
      await change(name, { metadata: { labels: { 'svc.run/do-not-overwrite': 'True' } }, spec: { color: 'mine' } });
    },
    started: { color: 'shipped', labels: { 'svc.run/do-not-overwrite': 'false', ours: 'ours' } },
  },
  {
    reason: 'the object of a user is updated and adopted; it stays, without our label',
    before: (_plugin, name) => person(name, { mine: 'x' }),
    started: { color: 'shipped', labels: { mine: 'x', ours: 'ours' }, adopted: true },
    stopped: { color: 'shipped', labels: { mine: 'x' } },
  },
  {
    reason: "an object with our label that is in no inventory is a user's",
    before: (plugin, name) => person(name, { 'svc.run/plugin': plugin.name }),
    started: { color: 'shipped', labels: { ours: 'ours' }, adopted: true },
    stopped: { color: 'shipped', labels: {} },
  },
  {
    reason: 'an adopted object stays adopted',
    before: async (plugin, name) => {
      await person(name);
      await plugin.start([shippedAs(name)]);
    },
    started: { color: 'shipped', labels: { ours: 'ours' }, adopted: true },
    stopped: { color: 'shipped', labels: {} },
  },
  {
    reason: 'adopted again after a stop',
    before: async (plugin, name) => {
      await person(name);
      await plugin.start([shippedAs(name)]);
      await plugin.stop();
    },
    started: { color: 'shipped', labels: { ours: 'ours' }, adopted: true },
    stopped: { color: 'shipped', labels: {} },
  },
  {
    reason: 'a user deleted the adopted object: the one created then is ours',
    before: async (plugin, name) => {
      await person(name);
      await plugin.start([shippedAs(name)]);
      await client.delete(Widget, keyOf(name));
    },
    started: { color: 'shipped', labels: { ours: 'ours' } },
  },
  {
    reason: 'a user deleted ours and created their own',
    before: async (plugin, name) => {
      await plugin.start([shippedAs(name)]);
      await client.delete(Widget, keyOf(name));
      await person(name);
    },
    started: { color: 'shipped', labels: { ours: 'ours' }, adopted: true },
    stopped: { color: 'shipped', labels: {} },
  },
  {
    reason: "a user removed our label: it is the user's",
    before: async (plugin, name) => {
      await plugin.start([shippedAs(name)]);
      await change(name, { metadata: { labels: { 'svc.run/plugin': null } } });
    },
    started: { color: 'shipped', labels: { ours: 'ours' }, adopted: true },
    stopped: { color: 'shipped', labels: {} },
  },
  {
    reason: 'the object of a user, shipped with the label: unchanged',
    labels: keep,
    before: (_plugin, name) => person(name),
    started: { color: 'mine', labels: {} },
    stopped: { color: 'mine', labels: {} },
  },
  {
    reason: 'the object of a user with the label: unchanged',
    before: (_plugin, name) => person(name, keep),
    started: { color: 'mine', labels: keep },
    stopped: { color: 'mine', labels: keep },
  },
];

describe('one preset, one start, one stop', () => {
  test.each(rules.map((each, i) => ({ ...each, i })))('$reason', async ({ labels, before, started, stopped, i }) => {
    const name = `rule-${i}`;
    const plugin = new ShippingPlugin(client, `plugin-${i}`);
    const withOurs = (all: Record<string, string>): Record<string, string> => {
      const { ours, ...rest } = all;
      return ours === undefined ? rest : { ...rest, 'svc.run/plugin': plugin.name };
    };
    await before?.(plugin, name);
    const { adopted } = await plugin.start([shippedAs(name, labels)]);
    expect(await seen(name)).toEqual({ color: started.color, labels: withOurs(started.labels) });
    expect(adopted.map((record) => record.name)).toEqual(started.adopted === true ? [name] : []);
    // Identical content is not written.
    const { metadata } = (await stored(name))!;
    await plugin.start([shippedAs(name, labels)]);
    expect([(await stored(name))!.metadata.resourceVersion, plugin.inventory.length]).toEqual([
      metadata.resourceVersion,
      1,
    ]);
    expect(await plugin.stop()).toEqual({ left: [] });
    expect(await seen(name)).toEqual(stopped && { color: stopped.color, labels: withOurs(stopped.labels) });
    expect(plugin.inventory).toEqual([]);
  });
});

test('the fields of a preset are of svc-preset, and a start ends what others set in its spec', async () => {
  const plugin = new ShippingPlugin(client, 'owner');
  await plugin.start([shippedAs('owned')]);
  await change('owned', { metadata: { labels: { mine: 'x' } }, spec: { size: 5 } });
  await plugin.start([shippedAs('owned')]);
  const { spec, metadata } = (await stored('owned'))!;
  expect(spec).toEqual({ color: 'shipped', size: 3 });
  const fields = metadata.managedFields?.map(({ manager, fieldsV1 }) => [manager as string, fieldsV1] as const);
  expect(Object.fromEntries(fields ?? [])).toEqual({
    'svc-preset': { 'f:metadata': expect.anything(), 'f:spec': { '.': {}, 'f:color': {}, 'f:size': {} } },
    svc: { 'f:metadata': { 'f:labels': { 'f:mine': {} } } },
  });
  await plugin.stop();
});
