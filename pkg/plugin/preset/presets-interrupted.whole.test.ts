import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, newConflict, type AnyObject, type Client } from '#pkg/apimachinery/index';
import { pluginType, type Plugin, type PresetRecord } from '#pkg/apis/index';
import { silentLog } from '#pkg/database/index';
import { FaultyClient, startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { registerModel } from '../model/register-model.ts';
import { PresetReconciler } from './preset-reconciler.ts';
import { Killed, CrashScheduler } from './presettest/interrupted-client.ts';
import { ShippingPlugin } from './presettest/shipping-plugin.ts';
import { Widget, widget } from './presettest/widget-model.ts';

let env: TestEnv;
let client: Client;
let other: Client;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  client = env.servers[0]!.client;
  other = env.servers[1]!.client;
  await registerModel(client, Widget);
});
afterAll(() => env?.stop());

const keep = { 'svc.run/do-not-overwrite': 'true' };
const before = (name: string): AnyObject[] =>
  ['same', 'changed', 'dropped', 'dropped-adopted', 'adopted', 'adopted-gone'].map((each) =>
    widget(`${name}-${each}`, { color: 'old' }),
  );
const after = (name: string): AnyObject[] => [
  widget(`${name}-same`, { color: 'old' }),
  ...['changed', 'adopted', 'adopted-gone', 'new', 'new-adopted'].map((each) =>
    widget(`${name}-${each}`, { color: 'new' }),
  ),
  widget(`${name}-kept`, { color: 'new' }, keep),
];

const person = (name: string) => client.create(Widget, widget(name, { color: 'mine' }, { mine: 'x' }) as never);

/** A plugin that has run before, with objects that users have changed; `name` is the prefix of all its names. */
async function ranBefore(name: string): Promise<ShippingPlugin> {
  const plugin = new ShippingPlugin(client, `plugin-${name}`);
  await Promise.all(
    ['adopted', 'adopted-gone', 'dropped-adopted', 'new-adopted'].map((each) => person(`${name}-${each}`)),
  );
  await plugin.start(before(name));
  await client.delete(Widget, { namespace: '', name: `${name}-adopted-gone` });
  return plugin;
}

interface PresetState {
  objects: [name: string, labels: Record<string, string>, spec: unknown][];
  inventory: PresetRecord[];
}

/** All objects with a name prefix, and the inventory; without names, plugin and uids. */
async function readState(name: string, inventory: readonly PresetRecord[]): Promise<PresetState> {
  const { items } = await client.list(Widget);
  const own = items.filter(({ metadata }) => metadata.name.startsWith(`${name}-`));
  const text = JSON.stringify({
    objects: own.map(({ metadata, spec }) => [metadata.name, metadata.labels, spec]),
    inventory: inventory.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  });
  return JSON.parse(text.replaceAll(`plugin-${name}`, 'PLUGIN').replaceAll(`${name}-`, 'NAME-')) as PresetState;
}

async function ended(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof Killed) return false;
    throw error;
  }
}

/** Each step has its own plugin, so that all run in parallel. */
async function atEveryStep(
  steps: number,
  look: (step: number, moment: 'before' | 'after') => Promise<void>,
): Promise<void> {
  await Promise.all(Array.from({ length: steps }).flatMap((_, step) => [look(step, 'before'), look(step, 'after')]));
}

describe('after a crash at any step, and a new run with the stored state', () => {
  test('a start has the same result as an uninterrupted one', async () => {
    const whole = await ranBefore('whole');
    const counter = new CrashScheduler();
    await whole.start(after('whole'), { killer: counter });
    const expected = await readState('whole', whole.inventory);
    expect(counter.steps).toBeGreaterThan(8);
    await atEveryStep(counter.steps, async (step, moment) => {
      const name = `start-${step}-${moment}`;
      const plugin = await ranBefore(name);
      expect(await ended(plugin.start(after(name), { killer: new CrashScheduler(step, moment) }))).toBe(false);
      await plugin.start(after(name));
      expect([step, moment, await readState(name, plugin.inventory)]).toEqual([step, moment, expected]);
    });
  });

  test('a stop has the same result as an uninterrupted one, and nothing is forgotten, also after a start that was killed', async () => {
    const whole = await ranBefore('stopped');
    await whole.start(after('stopped'));
    const counter = new CrashScheduler();
    await whole.stop({ killer: counter });
    const expected = await readState('stopped', whole.inventory);
    expect(expected.objects.map(([name, labels]) => [name, labels['mine']])).toEqual([
      ['NAME-adopted', 'x'],
      ['NAME-dropped-adopted', 'x'],
      ['NAME-kept', undefined],
      ['NAME-new-adopted', 'x'],
    ]);
    expect(expected.inventory).toEqual([]);
    await atEveryStep(counter.steps, async (step, moment) => {
      const name = `stop-${step}-${moment}`;
      const plugin = await ranBefore(name);
      await plugin.start(after(name));
      expect(await ended(plugin.stop({ killer: new CrashScheduler(step, moment) }))).toBe(false);
      await plugin.stop();
      expect([step, moment, await readState(name, plugin.inventory)]).toEqual([step, moment, expected]);
    });
  });

  test('a first start and its stop leave nothing', async () => {
    const objects = (name: string): AnyObject[] => ['a', 'b', 'c'].map((each) => widget(`${name}-${each}`));
    const whole = new ShippingPlugin(client, 'plugin-first');
    const counter = new CrashScheduler();
    await whole.start(objects('first'), { killer: counter });
    await atEveryStep(counter.steps, async (step, moment) => {
      const name = `first-${step}-${moment}`;
      const plugin = new ShippingPlugin(client, `plugin-${name}`);
      await ended(plugin.start(objects(name), { killer: new CrashScheduler(step, moment) }));
      await plugin.stop();
      expect([step, moment, await readState(name, plugin.inventory)]).toEqual([
        step,
        moment,
        { objects: [], inventory: [] },
      ]);
    });
  });

  test('an object that a user creates in between belongs to the user', async () => {
    for (const [step, moment] of [
      [0, 'after'],
      [1, 'before'],
    ] as const) {
      const name = `between-${step}`;
      const plugin = new ShippingPlugin(client, `plugin-${name}`);
      await ended(plugin.start([widget(`${name}-a`, { color: 'ours' })], { killer: new CrashScheduler(step, moment) }));
      expect(plugin.inventory).toHaveLength(1);
      await person(`${name}-a`);
      const { adopted } = await plugin.start([widget(`${name}-a`, { color: 'ours' })]);
      expect(adopted).toHaveLength(1);
      await plugin.stop();
      expect((await client.get(Widget, { namespace: '', name: `${name}-a` })).metadata.labels).toEqual({ mine: 'x' });
    }
  });
});

describe('a user changes an object between the read and the write', () => {
  const keyOf = (name: string) => ({ namespace: '', name });
  const label = (name: string, labels: Record<string, string | null>) =>
    client.patch(Widget, keyOf(name), { type: 'merge', patch: { metadata: { labels } } });
  const remake = async (name: string): Promise<void> => {
    await client.delete(Widget, keyOf(name));
    await person(name);
  };
  const seen = async (name: string): Promise<unknown> => {
    const { items } = await client.list(Widget, { fieldSelector: `metadata.name=${name}` });
    return items.map(({ metadata, spec }) => [
      (spec as { color: string }).color,
      Object.keys(metadata.labels ?? {}).toSorted(),
    ])[0];
  };

  test.each<[string, (name: string) => Promise<unknown>, unknown]>([
    ['adds the label to it', (name) => label(name, keep), ['old', ['svc.run/do-not-overwrite', 'svc.run/plugin']]],
    ['removes our label from it', (name) => label(name, { 'svc.run/plugin': null }), ['old', []]],
    ['recreates it', remake, ['mine', ['mine']]],
    ['deletes it', (name) => client.delete(Widget, keyOf(name)), undefined],
    ['edits it', (name) => label(name, { mine: 'x' }), undefined],
  ])('of a removal: %s', async (what, act, expected) => {
    const name = `removed-${what.replaceAll(' ', '-')}`;
    const plugin = new ShippingPlugin(client, `plugin-${name}`);
    await plugin.start([widget(name, { color: 'old' })]);
    expect(await plugin.stop({ killer: new CrashScheduler(0, 'before', async () => void (await act(name))) })).toEqual({
      left: [],
    });
    expect([await seen(name), plugin.inventory]).toEqual([expected, []]);
  });

  test.each<[string, (name: string) => Promise<unknown>, unknown, boolean]>([
    [
      'adds the label to it',
      (name) => label(name, keep),
      ['old', ['svc.run/do-not-overwrite', 'svc.run/plugin']],
      false,
    ],
    ['removes our label from it', (name) => label(name, { 'svc.run/plugin': null }), ['new', ['svc.run/plugin']], true],
    ['recreates it', remake, ['new', ['mine', 'svc.run/plugin']], true],
    ['deletes it', (name) => client.delete(Widget, keyOf(name)), ['new', ['svc.run/plugin']], false],
    ['edits it', (name) => label(name, { mine: 'x' }), ['new', ['mine', 'svc.run/plugin']], false],
  ])('of an update: %s', async (what, act, expected, isAdopted) => {
    const name = `updated-${what.replaceAll(' ', '-')}`;
    const plugin = new ShippingPlugin(client, `plugin-${name}`);
    await plugin.start([widget(name, { color: 'old' })]);
    await plugin.start([widget(name, { color: 'new' })], {
      killer: new CrashScheduler(0, 'before', async () => void (await act(name))),
    });
    expect([await seen(name), plugin.inventory[0]?.adopted]).toEqual([expected, isAdopted ? true : undefined]);
  });

  test('of a creation: a user or another plugin creates it', async () => {
    const mine = new ShippingPlugin(client, 'plugin-created');
    const { adopted } = await mine.start([widget('created', { color: 'new' })], {
      killer: new CrashScheduler(1, 'before', async () => void (await person('created'))),
    });
    expect([adopted.length, await seen('created')]).toEqual([1, ['new', ['mine', 'svc.run/plugin']]]);
    const late = new ShippingPlugin(client, 'plugin-late');
    const early = new ShippingPlugin(client, 'plugin-early');
    const started = late.start([widget('contested')], {
      killer: new CrashScheduler(1, 'before', async () => void (await early.start([widget('contested')]))),
    });
    await expect(started).rejects.toMatchObject({
      reason: 'PresetTaken',
      message: expect.stringMatching(/belongs to the plugin plugin-early/),
    });
    expect(await late.stop()).toEqual({ left: [] });
    expect((await client.get(Widget, keyOf('contested'))).metadata.labels).toEqual({
      'svc.run/plugin': 'plugin-early',
    });
  });
});

test('an inventory that cannot be stored ends the run at once, at any step', async () => {
  const lost = newConflict({ group: 'plugin.svc.run', resource: 'plugins' }, 'unstored', 'somebody else was faster');
  const presets = new PresetReconciler({ client, log: { ...silentLog, debug: () => undefined } });
  const object = { file: 'presets/a.yaml', document: 1, object: widget('unstored') as never };
  const { signal } = new AbortController();
  const turn = { plugin: 'plugin-unstored', presets: [object], signal };
  await expect(presets.apply({ ...turn, inventory: [], record: () => Promise.reject(lost) })).rejects.toBe(lost);
  let calls = 0;
  const record = async (): Promise<void> => {
    calls += 1;
    if (calls === 2) throw lost;
    // It cannot be recorded as adopted, although it must be.
    await person('unstored');
  };
  await expect(presets.apply({ ...turn, inventory: [], record })).rejects.toBe(lost);
  expect((await client.get(Widget, { namespace: '', name: 'unstored' })).metadata.labels).toEqual({ mine: 'x' });
  const inventory = [{ apiVersion: 'preset.example.com/v1', kind: 'Widget', name: 'unstored' }];
  await expect(
    presets.remove({ plugin: turn.plugin, inventory, record: () => Promise.reject(lost), signal, timeoutMs: 1000 }),
  ).rejects.toBe(lost);
});

test('with random faults the result is the same', async () => {
  const whole = await ranBefore('calm');
  await whole.start(after('calm'));
  const started = await readState('calm', whole.inventory);
  await whole.stop();
  const stopped = await readState('calm', whole.inventory);
  const storm = async (seed: number): Promise<void> => {
    const name = `storm-${seed}`;
    const { inventory } = await ranBefore(name);
    const plugin = new ShippingPlugin(
      new FaultyClient({ client, seed, rates: { unavailable: 0.1, lostAnswer: 0.1, conflict: 0.1, expired: 0.1 } }),
      `plugin-${name}`,
    );
    plugin.inventory = inventory;
    await untilDone(() => plugin.start(after(name)));
    expect([seed, await readState(name, plugin.inventory)]).toEqual([seed, started]);
    await untilDone(async () => {
      const { left } = await plugin.stop();
      expect(left).toEqual([]);
    });
    expect([seed, await readState(name, plugin.inventory)]).toEqual([seed, stopped]);
  };
  await Promise.all(Array.from({ length: 8 }, (_, seed) => storm(seed)));
});

/** Retries transient failures of a start, as the host does. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (!isStatusError(error) || error.code < 500) throw error;
    }
  }
}

test('two hosts that start and stop it concurrently, both as leader, end with one inventory', async () => {
  for (let round = 0; round < 3; round += 1) {
    const name = `race-${round}`;
    await client.create<Plugin>(pluginType, {
      apiVersion: 'plugin.svc.run/v1alpha1',
      kind: 'Plugin',
      metadata: { name: `plugin-${name}` },
      spec: { version: '1.0.0' },
    });
    await person(`${name}-mine`);
    const objects = [
      ...['a', 'b', 'c', 'd'].map((each) => widget(`${name}-${each}`)),
      widget(`${name}-mine`, { color: 'mine' }),
    ];
    const [first, second] = [client, other].map((each) => new StoredPlugin(each, `plugin-${name}`));
    await Promise.all([first!.start(objects), second!.start(objects)]);
    const { items } = await client.list(Widget);
    expect(items.filter(({ metadata }) => metadata.name.startsWith(`${name}-`))).toHaveLength(5);
    const { status } = await client.get(pluginType, { namespace: '', name: `plugin-${name}` });
    expect(status?.presets?.map((record) => [record.name, record.adopted])).toEqual([
      ...['a', 'b', 'c', 'd'].map((each) => [`${name}-${each}`, undefined]),
      [`${name}-mine`, true],
    ]);
    await Promise.all([first!.stop(), second!.stop()]);
    const stopped = await client.get(pluginType, { namespace: '', name: `plugin-${name}` });
    expect(await readState(name, stopped.status?.presets ?? [])).toEqual({
      objects: [['NAME-mine', { mine: 'x' }, { color: 'mine', size: 3 }]],
      inventory: [],
    });
  }
});

/** A plugin with its inventory in the Plugin's status; a run that finds it changed starts over. */
class StoredPlugin {
  readonly #client: Client;
  readonly #name: string;
  readonly #presets: PresetReconciler;

  constructor(reader: Client, name: string) {
    this.#client = reader;
    this.#name = name;
    this.#presets = new PresetReconciler({ client: reader, log: { ...silentLog, debug: () => undefined } });
  }

  start(objects: readonly AnyObject[]): Promise<void> {
    const presets = objects.map((object, i) => ({
      file: 'presets/a.yaml',
      document: i,
      object: structuredClone(object) as never,
    }));
    return this.#attempt(({ inventory, record, signal }) =>
      this.#presets.apply({ plugin: this.#name, presets, inventory, record, signal }),
    );
  }

  stop(): Promise<void> {
    return this.#attempt(({ inventory, record, signal }) =>
      this.#presets.remove({ plugin: this.#name, inventory, record, signal, timeoutMs: 5000 }),
    );
  }

  async #attempt(
    work: (stored: {
      inventory: PresetRecord[];
      record: (presets: PresetRecord[]) => Promise<void>;
      signal: AbortSignal;
    }) => Promise<unknown>,
  ): Promise<void> {
    for (;;) {
      let plugin = await this.#client.get(pluginType, { namespace: '', name: this.#name });
      const record = async (presets: PresetRecord[]): Promise<void> => {
        plugin = await this.#client.updateStatus(pluginType, { ...plugin, status: { ...plugin.status, presets } });
      };
      try {
        await work({ inventory: plugin.status?.presets ?? [], record, signal: new AbortController().signal });
        return;
      } catch (error) {
        if (!isStatusError(error, 'Conflict')) throw error;
      }
    }
  }
}
