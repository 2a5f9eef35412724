import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isStatusError, type AnyObject, type Client, type Stored } from '#pkg/apimachinery/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { isPluginError } from '../plugin-error.ts';
import { registerModel } from '../model/register-model.ts';
import { Killed, CrashScheduler } from './presettest/interrupted-client.ts';
import { ShippingPlugin } from './presettest/shipping-plugin.ts';
import { Widget, widget } from './presettest/widget-model.ts';

let env: TestEnv;
let client: Client;
let runs = 0;

beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await registerModel(client, Widget);
});
afterAll(() => env?.stop());

const names = ['a', 'b', 'c'] as const;
type Name = (typeof names)[number];
type Shipped = Partial<Record<Name, 'plain' | 'kept'>>;

type Objects = Map<Name, Stored<AnyObject>>;

type Edit = {
  do: 'make' | 'makeOurs' | 'makeAnothers' | 'edit' | 'keep' | 'unkeep' | 'unlabel' | 'delete';
  name: Name;
};
/** An event at one step of a start or stop: the process is killed, or a user changes something. */
type Event = { at: number; after: boolean; edit?: Edit };
type Turn = { do: 'start'; shipped: Shipped; event?: Event } | { do: 'stop'; event?: Event };

const edits = ['make', 'makeOurs', 'makeAnothers', 'edit', 'keep', 'unkeep', 'unlabel', 'delete'] as const;
const edit = (of: readonly Edit['do'][]): fc.Arbitrary<Edit> =>
  fc.record({ do: fc.constantFrom(...of), name: fc.constantFrom(...names) });
const event: fc.Arbitrary<Event> = fc.record(
  { at: fc.nat(6), after: fc.boolean(), edit: edit(edits.filter((each) => each !== 'makeOurs')) },
  { requiredKeys: ['at', 'after'] },
);
const shipped: fc.Arbitrary<Shipped> = fc.record(
  { a: fc.constantFrom('plain', 'kept'), b: fc.constantFrom('plain', 'kept'), c: fc.constant('plain') },
  { requiredKeys: [] },
);
const start: fc.Arbitrary<Turn> = fc.record(
  { do: fc.constant('start'), shipped, event },
  { requiredKeys: ['do', 'shipped'] },
);
const stop: fc.Arbitrary<Turn> = fc.record({ do: fc.constant('stop'), event }, { requiredKeys: ['do'] });
const step: fc.Arbitrary<Turn | Edit> = fc.oneof(
  { weight: 4, arbitrary: start },
  { weight: 2, arbitrary: stop },
  { weight: 6, arbitrary: edit(edits) },
);

/** One plugin with three names, and its invariants under all events. */
class PresetModel {
  readonly #plugin: ShippingPlugin;
  readonly #prefix: string;
  /** Uids of objects that users created, or took from the plugin, and never gave to it. */
  readonly #persons = new Set<string>();
  /** Uids of objects that the label has given to the user. */
  readonly #users = new Set<string>();
  /** Names that users changed during the present turn. */
  readonly #touched = new Set<Name>();

  constructor() {
    runs += 1;
    this.#prefix = `random-${runs}`;
    this.#plugin = new ShippingPlugin(client, `plugin-${runs}`);
  }

  async run(steps: readonly (Turn | Edit)[]): Promise<void> {
    for (const each of [...steps, { do: 'stop' } as const]) {
      if (each.do === 'start' || each.do === 'stop') await this.#turn(each);
      else await this.#edit(each);
    }
  }

  async #turn(turn: Turn): Promise<void> {
    this.#touched.clear();
    const before = await this.#objects();
    const killer = this.#killer(turn.event);
    const outcome = await this.#outcome(
      turn.do === 'stop' ? this.#plugin.stop({ killer }) : this.#plugin.start(this.#presets(turn.shipped), { killer }),
    );
    const now = await this.#objects();
    for (const [name, { metadata }] of now) if (this.#isUsers(turn, name, metadata)) this.#users.add(metadata.uid);
    this.#checkUntouched(turn, before, now);
    if (outcome === 'killed') return;
    if (turn.do === 'stop') this.#checkStopped(turn, outcome, now);
    else this.#checkStarted(turn, { outcome, before, now });
  }

  /** Shipped with the label, or released because of it. */
  #isUsers(turn: Turn, name: Name, { labels }: AnyObject['metadata']): boolean {
    if (turn.do === 'start' && turn.shipped[name] === 'kept') return true;
    return (
      labels?.['svc.run/do-not-overwrite'] === 'true' &&
      !this.#plugin.inventory.some((record) => record.name === this.#name(name))
    );
  }

  /** A user's object is never deleted; another plugin's, or one with the label, is never changed. */
  #checkUntouched(turn: Turn, before: Objects, now: Objects): void {
    for (const [name, object] of before) {
      const is = now.get(name);
      if (this.#persons.has(object.metadata.uid))
        expect([turn, name, is?.metadata.uid]).toEqual([turn, name, object.metadata.uid]);
      const { labels = {} } = object.metadata;
      const isSafe = labels['svc.run/plugin'] === 'another' || labels['svc.run/do-not-overwrite'] === 'true';
      if (isSafe && !this.#touched.has(name)) expect([turn, is]).toEqual([turn, object]);
    }
  }

  #checkStarted(
    turn: Turn & { do: 'start' },
    { outcome, before, now }: { outcome: string; before: Objects; now: Objects },
  ): void {
    const wanted = names.filter((name) => turn.shipped[name] !== undefined);
    const isTaken = wanted.some((name) =>
      [before, now].some((objects) => objects.get(name)?.metadata.labels?.['svc.run/plugin'] === 'another'),
    );
    if (this.#touched.size === 0 || !isTaken) expect([turn, outcome]).toEqual([turn, isTaken ? 'PresetTaken' : 'done']);
    if (outcome !== 'done') return;
    const inventory = new Map(this.#plugin.inventory.map((record) => [record.name, record]));
    expect([turn, [...inventory.keys()].toSorted()]).toEqual([turn, wanted.map((name) => this.#name(name)).toSorted()]);
    for (const name of wanted.filter((each) => !this.#touched.has(each))) {
      const [was, is] = [before.get(name), now.get(name)!];
      const isLeft =
        was !== undefined &&
        (turn.shipped[name] === 'kept' || was.metadata.labels?.['svc.run/do-not-overwrite'] === 'true');
      if (isLeft) expect([turn, is]).toEqual([turn, was]);
      else
        expect([turn, is.spec, is.metadata.labels?.['svc.run/plugin']]).toEqual([
          turn,
          { color: 'shipped', size: 3 },
          this.#plugin.name,
        ]);
      // The inventory marks users' objects.
      if (this.#persons.has(is.metadata.uid))
        expect([turn, name, inventory.get(is.metadata.name)?.adopted]).toEqual([turn, name, true]);
    }
  }

  /** No object of the plugin is forgotten, whatever happened. */
  #checkStopped(turn: Turn, outcome: string, now: Objects): void {
    expect([turn, outcome, this.#plugin.inventory]).toEqual([turn, 'done', []]);
    for (const [name, { metadata }] of now) {
      const isSomebodys = this.#persons.has(metadata.uid) || this.#users.has(metadata.uid) || this.#touched.has(name);
      if (!isSomebodys)
        expect([turn, metadata.labels]).toEqual([
          turn,
          expect.objectContaining({ 'svc.run/do-not-overwrite': 'true' }),
        ]);
    }
  }

  #presets(wanted: Shipped): AnyObject[] {
    return names.flatMap((name) => {
      const kind = wanted[name];
      return kind === undefined
        ? []
        : [
            widget(
              this.#name(name),
              { color: 'shipped' },
              kind === 'kept' ? { 'svc.run/do-not-overwrite': 'true' } : undefined,
            ),
          ];
    });
  }

  #killer({ at, after, edit: change }: Event = { at: Number.POSITIVE_INFINITY, after: false }): CrashScheduler {
    return new CrashScheduler(
      at,
      after ? 'after' : 'before',
      change === undefined ? undefined : () => this.#edit(change).catch(unlessGone),
    );
  }

  async #edit({ do: what, name }: Edit): Promise<void> {
    this.#touched.add(name);
    const is = (await this.#objects()).get(name);
    const key = { namespace: '', name: this.#name(name) };
    const label = (labels: Record<string, string | null>): Promise<unknown> =>
      client.patch(Widget, key, { type: 'merge', patch: { metadata: { labels } } });
    const made = {
      make: undefined,
      makeOurs: { 'svc.run/plugin': this.#plugin.name },
      makeAnothers: { 'svc.run/plugin': 'another' },
    };
    if (what === 'make' || what === 'makeOurs' || what === 'makeAnothers') {
      if (is !== undefined) return;
      const { metadata } = await client.create(Widget, widget(key.name, { color: 'mine' }, made[what]) as never);
      // An object with our label and our name now belongs to the plugin.
      const record = this.#plugin.inventory.find((each) => each.name === key.name);
      if (what !== 'makeOurs' || record === undefined || record.adopted === true) this.#persons.add(metadata.uid);
      else if (record.kept === true) this.#users.add(metadata.uid);
      return;
    }
    if (is === undefined) return;
    if (what === 'delete') {
      await client.delete(Widget, key);
      this.#persons.delete(is.metadata.uid);
    } else if (what === 'edit')
      await client.patch(Widget, key, {
        type: 'merge',
        patch: { spec: { color: 'mine' }, metadata: { labels: { mine: 'x' } } },
      });
    else if (what === 'keep') await label({ 'svc.run/do-not-overwrite': 'true' });
    else if (what === 'unkeep') await label({ 'svc.run/do-not-overwrite': null });
    else {
      await label({ 'svc.run/plugin': null });
      this.#persons.add(is.metadata.uid);
    }
  }

  async #outcome(work: Promise<unknown>): Promise<string> {
    try {
      await work;
      return 'done';
    } catch (error) {
      if (error instanceof Killed) return 'killed';
      if (isPluginError(error)) return error.reason;
      throw error;
    }
  }

  async #objects(): Promise<Objects> {
    const found: Objects = new Map();
    for (const name of names) {
      try {
        found.set(name, await client.get<AnyObject>(Widget, { namespace: '', name: this.#name(name) }));
      } catch (error) {
        if (!isStatusError(error, 'NotFound')) throw error;
      }
    }
    return found;
  }

  #name(name: Name): string {
    return `${this.#prefix}-${name}`;
  }
}

/** During a turn the object of a user's change may be deleted. */
function unlessGone(error: unknown): void {
  if (!isStatusError(error, 'NotFound')) throw error;
}

test('with any changes of users and crashes at any step: no object of a user is deleted, and no object of the plugin is forgotten', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 20 }), async (steps) => new PresetModel().run(steps)),
    { numRuns: 30 },
  );
});
