import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '#pkg/apimachinery/index';
import { definePosts, newPost, postType, startTestEnv, type Post, type TestEnv } from '../../testenv/index.ts';
import {
  controllerFor,
  enqueueMapped,
  leaseType,
  Manager,
  resumePositionAnnotation,
  TaskLeases,
  type ControllerDefinition,
  type Log,
  type ManagerOptions,
  type ReconcileResult,
  type ResumeOptions,
} from '../index.ts';
import { PositionStore } from './position-store.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let env: TestEnv;
let client: Client;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await definePosts(env);
});
afterAll(() => env.stop());

/** Records which posts of its run are reconciled. */
class Stage {
  readonly run: string;
  seen: string[] = [];
  outcome: (name: string) => ReconcileResult | Promise<ReconcileResult> = () => undefined;
  #waiting: (() => void)[] = [];

  constructor(run: string) {
    this.run = run;
  }

  definition(resume: ResumeOptions = {}, labelSelector = `run=${this.run}`): ControllerDefinition {
    return controllerFor(postType, { labelSelector })
      .named('stage')
      .withResume(resume)
      .withTuning({ concurrency: 20 })
      .reconcile(async ({ name }) => {
        this.seen.push(name);
        for (const wake of this.#waiting.splice(0)) wake();
        return this.outcome(name);
      });
  }

  start(definition = this.definition(), more: Partial<ManagerOptions> = {}): Manager {
    this.seen = [];
    const manager = new Manager({ client, log: silent, name: this.run, controllers: [definition], ...more });
    manager.start();
    return manager;
  }

  async until(holds: () => boolean): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const overdue = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`did not come to pass; seen: ${this.seen.join(' ')}`)), 20_000);
    });
    while (!holds()) await Promise.race([overdue, new Promise<void>((resolve) => this.#waiting.push(resolve))]);
    clearTimeout(timer);
  }

  async write(name: string, title = 'a title'): Promise<void> {
    await client.create(postType, newPost(name, title, { labels: { run: this.run } }));
  }

  get store(): PositionStore {
    return new PositionStore({ client, namespace: 'svc-system', manager: this.run, controller: 'stage' });
  }

  /**
   * The posts that a term reconciles by itself, without the marker post that is created after its start. The initial
   * objects are all reconciled at once.
   */
  async turn(marker: string, definition = this.definition()): Promise<string[]> {
    const manager = this.start(definition);
    await this.write(marker);
    await this.until(() => this.seen.includes(marker));
    await manager.stop();
    return this.seen.filter((name) => name !== marker).toSorted();
  }
}

const edit = (name: string, title: string): Promise<unknown> =>
  client.patch(postType, { namespace: '', name }, { type: 'merge', patch: { spec: { title } } });
const remove = (name: string): Promise<unknown> => client.delete(postType, { namespace: '', name });

test('a restart without changes reconciles none of a thousand objects', async () => {
  const stage = new Stage('quiet');
  await Promise.all(Array.from({ length: 1000 }, (_, i) => stage.write(`quiet-${i}`)));
  expect(await stage.turn('quiet-first')).toHaveLength(1000);
  expect(await stage.turn('quiet-second')).toEqual([]);
});

test('what was created, changed or deleted in between is reconciled, and nothing else', async () => {
  const stage = new Stage('between');
  for (const name of ['between-a', 'between-b', 'between-c', 'between-d']) await stage.write(name);
  await stage.turn('between-first');
  await stage.write('between-e');
  await edit('between-b', 'another');
  await remove('between-c');
  const manager = stage.start();
  await stage.until(() => ['between-b', 'between-c', 'between-e'].every((name) => stage.seen.includes(name)));
  await manager.stop();
  expect(stage.seen.toSorted()).toEqual(['between-b', 'between-c', 'between-e']);
});

test('failed, running and delayed requests are reconciled again, for any position', async () => {
  const stage = new Stage('open');
  for (const name of ['open-well', 'open-ill', 'open-later', 'open-soon']) await stage.write(name);
  stage.outcome = (name) => {
    if (name === 'open-ill') throw new Error('ill');
    if (name === 'open-later') return { requeueAfterMs: 3_600_000 };
    return name === 'open-soon' ? { requeueAfterMs: 1 } : undefined;
  };
  await stage.turn('open-first');
  stage.outcome = () => undefined;
  const manager = stage.start();
  await stage.until(() => ['open-ill', 'open-soon'].every((name) => stage.seen.includes(name)));
  await manager.stop();
  expect(stage.seen.toSorted()).toEqual(['open-ill', 'open-soon']);
});

test('changes during the last reconciles are handled in the next term', async () => {
  const stage = new Stage('ending');
  let release = (): void => undefined;
  stage.outcome = () => new Promise((resolve) => (release = resolve));
  await stage.write('ending-a');
  const manager = stage.start();
  await stage.until(() => stage.seen.includes('ending-a'));
  const stopping = manager.stop();
  await stage.write('ending-b');
  // The cache, which runs until the end, receives the event.
  for (let turns = 0; turns < 100; turns += 1) await new Promise(setImmediate);
  release();
  await stopping;
  stage.outcome = () => undefined;
  expect(await stage.turn('ending-c')).toContain('ending-b');
});

describe('all objects are reconciled', () => {
  const all = ['void-a', 'void-b', 'void-first'];
  const stage = new Stage('void');
  beforeAll(async () => {
    await stage.write('void-a');
    await stage.write('void-b');
    await stage.turn('void-first');
  });

  test('after a change of the code version', async () => {
    expect(await stage.turn('void-second', stage.definition({ version: '2' }))).toEqual(all);
    const seenByThird = await stage.turn('void-third', stage.definition({ version: '2' }));
    // The marker may be reconciled again if that term ended before it had read the missed history.
    expect(all.filter((name) => seenByThird.includes(name))).toEqual([]);
  });

  test('by a controller with an additional watch', async () => {
    const watching = controllerFor(postType, { labelSelector: 'run=void' })
      .named('stage')
      .withResume({ version: '2' })
      .withTuning({ concurrency: 20 })
      .watches(postType, () => [], { selection: { labelSelector: 'other' } });
    const seen: string[] = [];
    const definition = watching.reconcile(async (request, context) => {
      seen.push(request.name);
      await stage.definition().begin().reconcile(request, context);
    });
    expect(await stage.turn('void-fourth', definition)).toEqual([...all, 'void-second', 'void-third'].toSorted());
  });

  test('if the position cannot be read', async () => {
    const { items } = await client.list(leaseType, { namespace: 'svc-system' });
    const stored = items.filter(({ metadata }) => metadata.annotations?.[resumePositionAnnotation] !== undefined);
    for (const { metadata } of stored) {
      await client.patch(
        leaseType,
        { namespace: 'svc-system', name: metadata.name },
        { type: 'merge', patch: { metadata: { annotations: { [resumePositionAnnotation]: '{"v":1}' } } } },
      );
    }
    expect((await stage.turn('void-fifth')).length).toBeGreaterThan(4);
  });
});

test("a change of an object's mapping causes a reconcile of all objects, unless mappings never change", async () => {
  const stage = new Stage('mapped');
  const definition = (isMappingFixed: boolean): ControllerDefinition => {
    const builder = controllerFor(postType, { labelSelector: 'run=mapped' })
      .named('stage')
      .withResume()
      .withTuning({ concurrency: 20 });
    const toAuthor = enqueueMapped<{
      apiVersion: string;
      kind: string;
      metadata: { name: string };
      spec?: { author?: string };
    }>(({ spec }) => (spec?.author === undefined ? [] : [{ namespace: '', name: spec.author }]));
    return builder
      .watches(postType, toAuthor, { selection: { labelSelector: 'child' }, isMappingFixed })
      .reconcile((request, context) => stage.definition().begin().reconcile(request, context));
  };
  for (const name of ['mapped-a', 'mapped-b', 'mapped-c']) await stage.write(name);
  await client.create(postType, {
    ...newPost('child', 'of a', { labels: { child: 'yes' } }),
    spec: { title: 'of a', author: 'mapped-a' },
  });
  await stage.turn('mapped-first', definition(false));
  // The present object no longer shows that the child was a's.
  await client.patch(
    postType,
    { namespace: '', name: 'child' },
    { type: 'merge', patch: { spec: { author: 'mapped-b' } } },
  );
  const manager = stage.start(definition(false));
  await stage.until(() =>
    ['mapped-a', 'mapped-b', 'mapped-c', 'mapped-first'].every((name) => stage.seen.includes(name)),
  );
  await manager.stop();
  await edit('child', 'still of b');
  expect(await stage.turn('mapped-second', definition(true))).toEqual(['mapped-b']);
});

describe('with more open requests than a position can name', () => {
  const names = (run: string): string[] => Array.from({ length: 501 }, (_, i) => `${run}-${i}`);

  test('the position does not go back behind the start of the term', async () => {
    const stage = new Stage('back');
    const toAuthor = enqueueMapped<Post>(({ spec }) =>
      spec?.author === undefined ? [] : [{ namespace: '', name: spec.author }],
    );
    const definition = controllerFor(postType, { labelSelector: 'run=back' })
      .named('stage')
      .withResume({ intervalMs: 5 })
      .withTuning({ concurrency: 20 })
      .watches(postType, toAuthor, { selection: { labelSelector: 'child=back' } })
      .reconcile((request, context) => stage.definition().begin().reconcile(request, context));
    await Promise.all(names('back').map((name) => stage.write(name)));
    await client.create(postType, {
      ...newPost('back-child', 'of 0', { labels: { child: 'back' } }),
      spec: { title: 'of 0', author: 'back-0' },
    });
    await stage.turn('back-first', definition);
    const begun = (await stage.store.read(AbortSignal.timeout(5000)))!;
    // It must reconcile everything, but does not finish.
    await client.patch(
      postType,
      { namespace: '', name: 'back-child' },
      { type: 'merge', patch: { spec: { author: 'back-1' } } },
    );
    stage.outcome = () => Promise.reject(new Error('not yet'));
    const manager = stage.start(definition);
    await stage.until(() => stage.seen.length > 501);
    await manager.stop();
    const left = (await stage.store.read(AbortSignal.timeout(5000)))!;
    expect(left.revisions.map((revision, i) => revision >= begun.revisions[i]!)).toEqual([true, true]);
    stage.outcome = () => undefined;
    await remove('back-7');
    const next = stage.start(definition);
    await stage.until(() => ['back-first', ...names('back')].every((name) => stage.seen.includes(name)));
    await next.stop();
  });

  test('and requeueAfterMs, the position advances all the same: a restart reconciles existing objects, and finds deletions', async () => {
    const stage = new Stage('later');
    stage.outcome = () => ({ requeueAfterMs: 3_600_000 });
    await Promise.all(names('later').map((name) => stage.write(name)));
    await stage.turn('later-first');
    await remove('later-7');
    const manager = stage.start();
    await stage.until(() => ['later-first', ...names('later')].every((name) => stage.seen.includes(name)));
    await manager.stop();
  });
});

test('another version of the code reconciles all objects, and still finds deletions', async () => {
  const stage = new Stage('newer');
  for (const name of ['newer-a', 'newer-b']) await stage.write(name);
  await stage.turn('newer-first');
  await remove('newer-b');
  const manager = stage.start(stage.definition({ version: '2' }));
  await stage.until(() => ['newer-a', 'newer-b', 'newer-first'].every((name) => stage.seen.includes(name)));
  await manager.stop();
});

test('a position that the API never reaches, like one of another database, is ignored', async () => {
  const stage = new Stage('ahead');
  await stage.write('ahead-a');
  await stage.turn('ahead-first');
  const position = (await stage.store.read(AbortSignal.timeout(5000)))!;
  await stage.store.write({ ...position, revisions: [10n ** 15n] }, AbortSignal.timeout(5000));
  expect(await stage.turn('ahead-second')).toEqual(['ahead-a', 'ahead-first']);
  expect(await stage.turn('ahead-third')).toEqual([]);
});

test('a successor with warm caches continues where the leader was', async () => {
  const stage = new Stage('heir');
  const leasesOf = (identity: string): TaskLeases => {
    const times = { durationMs: 60_000, deadlineMs: 50_000, retryMs: 50 };
    return new TaskLeases({ client, log: silent, identity, namespace: 'default', group: 'heir', ...times });
  };
  const [first, second] = [leasesOf('leader'), leasesOf('heir')];
  for (const name of ['heir-a', 'heir-b', 'heir-c']) await stage.write(name);
  const leader = stage.start(stage.definition(), { leases: first });
  first.start();
  await stage.until(() => stage.seen.length === 3);
  const successor = stage.start(stage.definition(), { leases: second });
  second.start();
  await remove('heir-b');
  await stage.until(() => stage.seen.includes('heir-b'));
  await first.stop();
  await leader.stop();
  stage.seen = [];
  await stage.write('heir-d');
  await stage.until(() => stage.seen.includes('heir-d'));
  await second.stop();
  await successor.stop();
  expect(stage.seen).toEqual(['heir-d']);
});

test('a deposed leader does not store the position', async () => {
  const stage = new Stage('fenced');
  await stage.write('fenced-a');
  const lease = await client.create(leaseType, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: 'default', name: 'fenced' },
    spec: { holderIdentity: 'another', leaseTransitions: 4 },
  });
  expect(lease.spec!.leaseTransitions).toBe(4);
  const manager = stage.start(stage.definition(), { fence: { namespace: 'default', lease: 'fenced', transitions: 3 } });
  await stage.until(() => stage.seen.includes('fenced-a'));
  await manager.stop();
  expect(await stage.turn('fenced-first')).toEqual(['fenced-a']);
});
