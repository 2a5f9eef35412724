import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client, ResourceType } from '#pkg/apimachinery/index';
import { wrapClient, type ClientRead, type ClientWrite } from '#pkg/client/index';
import { definePosts, newPost, postType, startTestEnv, type Post, type TestEnv } from '../../testenv/index.ts';
import {
  controllerFor,
  Manager,
  TaskLeases,
  type ControllerDefinition,
  type Log,
  type ManagerOptions,
} from '../index.ts';
import { leaseType } from '../leaderelection/lease.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let env: TestEnv;
let client: Client;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await definePosts(env);
});
afterAll(() => env.stop());

interface Watched {
  manager: Manager;
  until(holds: () => boolean): Promise<void>;
}

function startManager(options: Omit<ManagerOptions, 'log'>): Watched {
  const waiting = new Set<() => void>();
  const manager = new Manager({ ...options, log: silent, onChange: () => waiting.forEach((wake) => wake()) });
  manager.start();
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise<void>((resolve) => waiting.add(resolve));
  };
  return { manager, until };
}

/** The client with one verb of one type replaced. */
function withVerb(
  verb: keyof Client,
  type: ResourceType,
  replace: <Result>(ask: () => Promise<Result>) => Promise<Result>,
): Client {
  const isReplaced = (call: ClientRead | ClientWrite): boolean =>
    call.verb === verb && call.type.plural === type.plural;
  return wrapClient(client, {
    read: (call, send) => (isReplaced(call) ? replace(send) : send()),
    write: (call, send) => (isReplaced(call) ? replace(() => send(call.options)) : send(call.options)),
  });
}

function texts({ manager }: Watched): string[] {
  return manager.controllers.map(({ name, state, problem }) =>
    [
      name,
      state,
      ...(problem instanceof Error
        ? [problem.message, problem.cause instanceof Error ? problem.cause.message : '']
        : []),
    ].join(' | '),
  );
}

test('a controller that cannot be built is retried at growing intervals, without another effect on the leader', async () => {
  const leases = new TaskLeases({ client, log: silent, identity: 'a', namespace: 'default', group: 'broken' });
  const tried: number[] = [];
  const broken: ControllerDefinition = {
    ...controllerFor(postType)
      .named('broken')
      .reconcile(async () => undefined),
    begin: () => {
      tried.push(performance.now());
      if (tried.length < 3) throw new Error('not yet');
      return { sources: [], reconcile: async () => undefined };
    },
  };
  const running = startManager({
    client,
    controllers: [broken],
    leases,
  });
  leases.start();
  try {
    await running.until(() => texts(running)[0] === 'broken | failed | not yet | ');
    expect([leases.leads('broken'), leases.problem]).toEqual([true, undefined]);
    await running.until(() => texts(running)[0] === 'broken | running');
  } finally {
    await leases.stop();
    await running.manager.stop();
  }
  const lease = await client.get(leaseType, { namespace: 'default', name: 'broken.broken' });
  expect(lease.spec).toMatchObject({ holderIdentity: '', leaseTransitions: 0 });
  const [first, second, third] = tried as [number, number, number];
  expect([second - first >= 990, third - second >= 1990]).toEqual([true, true]);
});

test('a controller whose type cannot be watched reports it until it can', async () => {
  let isRefused = true;
  const refusing = withVerb('list', postType, (ask) =>
    isRefused ? Promise.reject(new Error('posts are forbidden')) : ask(),
  );
  const running = startManager({
    client: refusing,
    controllers: [
      controllerFor(postType)
        .named('late')
        .reconcile(async () => undefined),
    ],
  });
  try {
    await running.manager.settled(AbortSignal.timeout(60_000));
    expect(texts(running)).toEqual([
      'late | stalled | posts.test.example.com cannot be followed | posts are forbidden',
    ]);
    isRefused = false;
    await running.until(() => texts(running)[0] === 'late | running');
  } finally {
    await running.manager.stop();
  }
});

test('an index that fails on an object stalls the controllers of the type, names both, and recovers with the object', async () => {
  const byTitle = ({ spec }: Post): string[] => {
    if (spec!.title === 'poison') throw new TypeError('cannot read title');
    return [spec!.title];
  };
  await client.create(postType, newPost('sound', 'fine'));
  const definition = controllerFor(postType)
    .named('titles')
    .withIndex(postType, 'title', byTitle)
    .reconcile(async () => undefined);
  const running = startManager({ client, controllers: [definition] });
  try {
    await running.until(() => texts(running)[0] === 'titles | running');
    await client.create(postType, newPost('bad', 'poison'));
    await running.until(() => running.manager.controllers[0]!.state === 'stalled');
    expect(texts(running)).toEqual([
      'titles | stalled | posts.test.example.com cannot be followed | the index title has no values for /bad',
    ]);
    await client.patch(
      postType,
      { namespace: '', name: 'bad' },
      { type: 'merge', patch: { spec: { title: 'mended' } } },
    );
    await running.until(() => texts(running)[0] === 'titles | running');
  } finally {
    await running.manager.stop();
  }
});

test('failing reconciles and lost events are reported, until they succeed', async () => {
  let isBroken = true;
  const failing = controllerFor(postType)
    .named('failing')
    .reconcile(async ({ name }) => {
      if (isBroken && name === 'retried') throw new RangeError('out of range');
    });
  const losing = controllerFor(postType)
    .named('losing')
    .withPredicate(({ object }) => {
      if (isBroken && object.metadata.name === 'lost') throw new TypeError('no predicate');
      return true;
    })
    .reconcile(async () => undefined);
  const running = startManager({ client, controllers: [failing, losing] });
  const { manager } = running;
  try {
    await client.create(postType, newPost('lost'));
    await running.until(() => manager.failures !== undefined);
    expect(manager.failures).toMatchObject({
      objects: 1,
      last: { controller: 'losing', request: 'posts /lost', attempt: 1, error: { message: 'no predicate' } },
    });
    await client.create(postType, newPost('retried'));
    await running.until(() => (manager.failures?.objects ?? 0) === 2);
    expect(manager.failures).toMatchObject({
      last: { controller: 'failing', request: '/retried', error: { message: 'out of range' } },
    });
    expect(manager.failures!.last.attempt).toBeGreaterThanOrEqual(3);
    isBroken = false;
    await client.patch(
      postType,
      { namespace: '', name: 'lost' },
      { type: 'merge', patch: { spec: { title: 'found' } } },
    );
    await running.until(() => manager.failures === undefined);
  } finally {
    await manager.stop();
  }
});

test('a handler that fails while it yields loses its event, which is reported', async () => {
  let isBroken = true;
  let fail = (): void => undefined;
  const hasFailed = new Promise<void>((resolve) => (fail = resolve));
  const yielding = controllerFor(postType)
    .named('yielding')
    .watches(postType, function* ({ object: { metadata } }) {
      yield { namespace: '', name: 'other' };
      if (!isBroken || metadata.name !== 'yielded') return;
      setImmediate(fail);
      throw new TypeError('no mapping');
    })
    .reconcile(async () => undefined);
  const running = startManager({ client, controllers: [yielding] });
  const { manager } = running;
  try {
    await client.create(postType, newPost('yielded'));
    await hasFailed;
    expect(manager.failures).toMatchObject({
      objects: 1,
      last: { controller: 'yielding', request: 'posts /yielded', error: { message: 'no mapping' } },
    });
    isBroken = false;
    await client.patch(
      postType,
      { namespace: '', name: 'yielded' },
      { type: 'merge', patch: { spec: { title: 'mended' } } },
    );
    await running.until(() => manager.failures === undefined);
  } finally {
    await manager.stop();
  }
});
