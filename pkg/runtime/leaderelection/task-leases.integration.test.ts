import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { aborted, isFenceLost, type Client, type Stored } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';
import { FaultyClient, startTestEnv, type TestEnv } from '../../testenv/index.ts';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import type { Log } from '../log.ts';
import { leaseType, newLease, type Lease, type LeaseSpec } from './lease.ts';
import { TaskLeases, type Leadership, type Task, type TaskLeasesOptions } from './task-leases.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** Hosts leave by themselves, and die quickly only if a test says so: a slow machine must not end a term. */
const quick = { namespace: 'default', durationMs: 60_000, deadlineMs: 50_000, retryMs: 30, settleMs: 0 };
const short = { durationMs: 1000, deadlineMs: 500 };

let env: TestEnv;
let client: Client;
let hosts: Host[] = [];
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
});
afterEach(async () => {
  await Promise.all(hosts.map((host) => host.leases.stop()));
  hosts = [];
});
afterAll(() => env.stop());

/** A host that leads what it is given until it ends. */
class Host {
  readonly leases: TaskLeases;
  /** The terms that run now, by task. */
  readonly terms = new Map<string, Leadership>();
  /** All terms that ever ran. */
  readonly began: [task: string, transitions: number][] = [];

  constructor(options: Partial<TaskLeasesOptions> & { identity: string; group: string }, tasks: () => Partial<Task>[]) {
    this.leases = new TaskLeases({ client, log: silent, ...quick, ...options });
    this.leases.add({
      tasks: () =>
        tasks().map((task) => ({ name: '', lead: (leadership) => this.#lead(task.name!, leadership), ...task })),
    });
    this.leases.start();
    hosts.push(this);
  }

  get tasks(): string[] {
    return [...this.terms.keys()].toSorted();
  }

  async #lead(task: string, leadership: Leadership): Promise<void> {
    this.terms.set(task, leadership);
    this.began.push([task, leadership.fence.transitions]);
    await aborted(leadership.signal);
    this.terms.delete(task);
  }
}

const named =
  (...names: string[]) =>
  (): Partial<Task>[] =>
    names.map((name) => ({ name }));
const leads = (host: Host, ...tasks: string[]): Promise<void> =>
  pollUntil(
    () => host.tasks.join(' ') === tasks.join(' '),
    undefined,
    `${host.leases.identity} leads ${tasks.join(' ')}`,
  );
const key = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });
const read = (name: string): Promise<Stored<Lease>> => client.get(leaseType, key(name));
const hostNames = (all: Record<string, LeaseSpec>): string[] =>
  Object.keys(all).filter((name) => name.includes('.host.'));
const specs = async (group: string): Promise<Record<string, LeaseSpec>> =>
  Object.fromEntries(
    (await client.list(leaseType, { namespace: 'default' })).items
      .filter(({ metadata }) => metadata.name.startsWith(`${group}.`))
      .map(({ metadata, spec }) => [metadata.name, spec!]),
  );

describe('tasks', () => {
  test('are shared by the hosts, and move when one joins or leaves', async () => {
    const all = named('a', 'b', 'c', 'd');
    const first = new Host({ identity: 'first', group: 'shared' }, all);
    await leads(first, 'a', 'b', 'c', 'd');
    const second = new Host({ identity: 'second', group: 'shared' }, all);
    await leads(second, 'a', 'b');
    await leads(first, 'c', 'd');
    await first.leases.stop();
    await leads(second, 'a', 'b', 'c', 'd');
    expect(second.began.toSorted(([a], [b]) => (a < b ? -1 : 1))).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 1],
      ['d', 1],
    ]);
    await second.leases.stop();
    expect(Object.values(await specs('shared')).map(({ holderIdentity }) => holderIdentity)).toEqual(['', '', '', '']);
    expect((await read('shared')).spec?.holderIdentity).toBe('');
  });

  test('of a group move together', async () => {
    const all = (): Partial<Task>[] => ['a', 'b', 'c', 'd'].map((name) => ({ name, group: name < 'c' ? 'g' : name }));
    const first = new Host({ identity: 'first', group: 'grouped' }, all);
    await leads(first, 'a', 'b', 'c', 'd');
    const second = new Host({ identity: 'second', group: 'grouped' }, all);
    await pollUntil(() => second.terms.size === 2 && first.terms.size === 2);
    expect([first.tasks.join(), second.tasks.join()].toSorted()).toEqual(['a,b', 'c,d']);
  });

  test('stay where they are until the hosts have been the same for a while', async () => {
    const first = new Host({ identity: 'first', group: 'settled', settleMs: 600_000 }, named('a', 'b'));
    await leads(first, 'a', 'b');
    const second = new Host({ identity: 'second', group: 'settled', settleMs: 600_000 }, named('a', 'b', 'c'));
    // Free tasks are taken at once.
    await leads(second, 'c');
    expect(first.tasks).toEqual(['a', 'b']);
  });

  test('that run are never taken from a living host, though they would be shared more evenly', async () => {
    const all = named('a', 'b', 'c', 'd');
    const first = new Host({ identity: 'first', group: 'unsettled', settleMs: 600_000 }, all);
    await leads(first, 'a', 'b', 'c', 'd');
    const second = new Host({ identity: 'second', group: 'unsettled', settleMs: 600_000 }, all);
    await pollUntil(async () => hostNames(await specs('unsettled')).length === 2);
    await second.leases.stop();
    expect([second.began, first.tasks]).toEqual([[], ['a', 'b', 'c', 'd']]);
  });

  test('go to the others while a host that leaves still ends one', async () => {
    let end = (): void => undefined;
    const slow: Partial<Task> = { name: 'slow', lead: () => new Promise((resolve) => (end = resolve)) };
    const first = new Host({ identity: 'first', group: 'leaving' }, () => [slow, { name: 'a' }, { name: 'b' }]);
    await pollUntil(() => first.leases.leads('slow') && first.terms.size === 2);
    const second = new Host({ identity: 'second', group: 'leaving', settleMs: 600_000 }, named('slow', 'a', 'b'));
    await pollUntil(async () => hostNames(await specs('leaving')).length === 2);
    const stopped = first.leases.stop();
    await leads(second, 'a', 'b');
    end();
    await stopped;
    await leads(second, 'a', 'b', 'slow');
  });

  test('are led although a lease of another cannot be written', async () => {
    const refusing = wrapClient(client, {
      write: (call, send) =>
        call.key.name.endsWith('refused') ? Promise.reject(new Error('not this one')) : send(call.options),
    });
    const host = new Host({ identity: 'only', group: 'partly', client: refusing }, named('a', 'refused', 'b'));
    await leads(host, 'a', 'b');
    await pollUntil(() => host.leases.problem !== undefined);
    expect(host.leases.problem).toEqual(new Error('not this one'));
  });

  test('come and go with their source', async () => {
    let names = ['a'];
    const host = new Host({ identity: 'only', group: 'changing' }, () => names.map((name) => ({ name })));
    await leads(host, 'a');
    names = ['b'];
    host.leases.look();
    await leads(host, 'b');
    await pollUntil(async () => (await read('changing.a')).spec?.holderIdentity === '');
    const other = { tasks: () => [{ name: 'c', lead: ({ signal }: Leadership) => aborted(signal) }] };
    const remove = host.leases.add(other);
    await pollUntil(() => host.leases.leads('c'));
    await remove();
    expect([host.leases.leads('c'), (await read('changing.c')).spec?.holderIdentity]).toEqual([false, '']);
  });

  test('of a silent host are taken when it counts as dead, and not before', async () => {
    const faulty = new FaultyClient({ client, seed: 1, rates: {} });
    const first = new Host({ identity: 'first', group: 'silent', client: faulty, ...short }, named('a'));
    await leads(first, 'a');
    const term = first.terms.get('a')!;
    const second = new Host({ identity: 'second', group: 'silent' }, named('a'));
    const cut = performance.now();
    faulty.setRates({ unavailable: 1 });
    const order: string[] = [];
    await Promise.all([
      aborted(term.signal).then(() => order.push('the first stops')),
      leads(second, 'a').then(() => order.push('the second begins')),
    ]);
    expect(order).toEqual(['the first stops', 'the second begins']);
    expect(performance.now() - cut).toBeGreaterThanOrEqual(900);
    expect(second.began).toEqual([['a', 1]]);
    faulty.heal();
    // The first comes back as a new host, with a lease of its own.
    await pollUntil(
      async () => Object.keys(await specs('silent')).filter((name) => name.includes('.host.')).length === 2,
    );
  });

  test('of a host that is known to be gone are taken at once, in a term of their own', async () => {
    const now = new Date().toISOString();
    const spec = { holderIdentity: 'before', leaseDurationSeconds: 60, renewTime: now };
    // What a process leaves behind that was killed.
    await client.create(leaseType, newLease(key('gone.host.before'), spec));
    await client.create(leaseType, newLease(key('gone.a'), { ...spec, leaseTransitions: 4 }));
    const next = new Host({ identity: 'next', group: 'gone', isGone: (identity) => identity === 'before' }, named('a'));
    await leads(next, 'a');
    expect(next.began).toEqual([['a', 5]]);
    expect(hostNames(await specs('gone'))).toHaveLength(1);
  });

  test('are lost by a host that others declare dead, and its writes are refused once another leads', async () => {
    const first = new Host({ identity: 'first', group: 'declared', retryMs: 200 }, named('a'));
    await leads(first, 'a');
    const { fence, signal } = first.terms.get('a')!;
    await client.create(leaseType, newLease(key('declared-note'), {}), { fence });
    const own = Object.keys(await specs('declared')).find((name) => name.includes('.host.'));
    await client.delete(leaseType, key(own!));
    await aborted(signal);
    await pollUntil(() => first.began.length === 2);
    expect(first.began).toEqual([
      ['a', 0],
      ['a', 1],
    ]);
    const late = client.patch(
      leaseType,
      key('declared-note'),
      { type: 'merge', patch: { spec: { holderIdentity: 'x' } } },
      { fence },
    );
    await expect(late.catch((error: unknown) => isFenceLost(error))).resolves.toBe(true);
  });

  test.each<[string, (name: string) => Promise<unknown>]>([
    [
      'was taken by hand',
      (name) =>
        client.patch(leaseType, key(name), {
          type: 'merge',
          patch: { spec: { holderIdentity: 'thief', leaseTransitions: 7 } },
        }),
    ],
    ['was deleted', (name) => client.delete(leaseType, key(name))],
  ])('end when their lease %s, and begin again with a higher number', async (how, change) => {
    const group = how.replaceAll(' ', '-');
    const host = new Host({ identity: 'only', group }, named('a'));
    await leads(host, 'a');
    const { signal } = host.terms.get('a')!;
    await change(`${group}.a`);
    await aborted(signal);
    await pollUntil(() => host.began.length === 2);
    expect(host.began[1]![1]).toBe(how === 'was deleted' ? 1 : 8);
  });

  test('are kept despite edits of others, lost responses and refusals', async () => {
    const faulty = new FaultyClient({ client, seed: 3, rates: { lostAnswer: 0.3, unavailable: 0.2 } });
    const host = new Host({ identity: 'only', group: 'robust', client: faulty }, named('a'));
    await leads(host, 'a');
    const { signal } = host.terms.get('a')!;
    for (let round = 0; round < 20; round += 1) {
      for (const name of ['robust', 'robust.a', ...Object.keys(await specs('robust'))])
        await client.patch(leaseType, key(name), {
          type: 'merge',
          patch: { metadata: { annotations: { note: String(round) } } },
        });
      expect(signal.aborted).toBe(false);
    }
    faulty.heal();
  });

  test('that fail are tried again after a while, and do not disturb others', async () => {
    const tries: number[] = [];
    const failing: Partial<Task> = {
      name: 'failing',
      lead: async ({ signal }) => {
        tries.push(performance.now());
        if (tries.length < 2) throw new Error('not today');
        await aborted(signal);
      },
    };
    const host = new Host({ identity: 'only', group: 'failing' }, () => [failing, { name: 'sound' }]);
    await pollUntil(() => tries.length === 2);
    expect([tries[1]! - tries[0]! >= 990, host.began]).toEqual([true, [['sound', 0]]]);
  });

  test('have exactly one host at a time, whatever comes and goes, and each term has its own number', async () => {
    const all = named(...Array.from({ length: 12 }, (_, i) => `task-${i}`));
    let started = 0;
    const start = (): Host => new Host({ identity: `host-${(started += 1)}`, group: 'many' }, all);
    const running = [start(), start(), start()];
    const terms: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      await pollUntil(() => running.reduce((sum, host) => sum + host.terms.size, 0) === 12);
      await pollUntil(() => running.every((host) => host.terms.size === 4));
      const gone = running.shift()!;
      await gone.leases.stop();
      running.push(start());
    }
    for (const host of hosts) terms.push(...host.began.map(([task, transitions]) => `${task} ${transitions}`));
    expect(new Set(terms).size).toBe(terms.length);
  });
});

test('a host renews one lease, whatever it leads', async () => {
  const written: string[] = [];
  const counting = wrapClient(client, {
    write: (call, send) => {
      written.push(call.verb);
      return send(call.options);
    },
  });
  const host = new Host(
    { identity: 'only', group: 'cheap', client: counting },
    named(...Array.from({ length: 50 }, (_, i) => `task-${i}`)),
  );
  await pollUntil(() => host.terms.size === 50);
  const before = (await specs('cheap'))['cheap.task-0'];
  written.length = 0;
  await pollUntil(() => written.length >= 3);
  expect(new Set(written)).toEqual(new Set(['patch']));
  expect((await specs('cheap'))['cheap.task-0']).toEqual(before);
});

test('hosts wait while a process of an earlier release leads alone, and take over when its lease is free', async () => {
  const spec: LeaseSpec = { holderIdentity: 'earlier', leaseDurationSeconds: 600, leaseTransitions: 4 };
  const earlier = await client.create(leaseType, newLease(key('mixed'), spec));
  const said: string[] = [];
  const host = new Host(
    { identity: 'later', group: 'mixed', log: { ...silent, info: (_details, text) => void said.push(text) } },
    named('a'),
  );
  await pollUntil(() => said.length > 0);
  expect([said, host.tasks]).toEqual([['a process of an earlier release leads alone; waiting'], []]);
  await client.update(leaseType, { ...earlier, spec: { ...spec, holderIdentity: '', leaseDurationSeconds: 1 } });
  await leads(host, 'a');
  expect((await read('mixed')).spec?.leaseTransitions).toBe(5);
  await client.delete(leaseType, key('mixed'));
  await pollUntil(async () =>
    (await client.list(leaseType, { namespace: 'default' })).items.some(({ metadata }) => metadata.name === 'mixed'),
  );
  expect(host.tasks).toEqual(['a']);
});

test('the lease of the group tells a process of an earlier release to wait', async () => {
  const host = new Host({ identity: 'only', group: 'told' }, named('a'));
  await leads(host, 'a');
  // An earlier release sees a lease that is held and renewed, and its own fence is lost.
  const { spec: held } = await read('told');
  expect(held).toMatchObject({ holderIdentity: 'all hosts together', leaseTransitions: 0, leaseDurationSeconds: 240 });
});

test('what keeps a host from its leases is reported until it is gone', async () => {
  let isRefused = true;
  const refusing = wrapClient(client, {
    write: (call, send) => (isRefused ? Promise.reject(new Error('leases are forbidden')) : send(call.options)),
  });
  const { leases } = new Host({ identity: 'only', group: 'refused', client: refusing }, named('a'));
  await pollUntil(() => leases.problem !== undefined);
  expect([leases.problem, leases.isLeading]).toEqual([new Error('leases are forbidden'), false]);
  isRefused = false;
  await pollUntil(() => leases.leads('a') && leases.problem === undefined);
});
