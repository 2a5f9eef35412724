import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client, Fence, Stored } from '#pkg/apimachinery/index';
import { definePosts, newPost, postType, startTestEnv, type Post, type TestEnv } from '../../testenv/index.ts';
import {
  controllerFor,
  generationChanged,
  Manager,
  removeFinalizer,
  TaskLeases,
  writeChanges,
  type ControllerDefinition,
  type Log,
} from '../index.ts';
import { leaseType } from '../leaderelection/lease.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let env: TestEnv;
let client: Client;
beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  client = env.servers[0]!.client;
  await definePosts(env);
});
afterAll(() => env.stop());

/** Waits until the object satisfies the predicate. */
async function eventually(name: string, holds: (post: Stored<Post>) => boolean): Promise<Stored<Post>> {
  const { resourceVersion } = await client.list(postType);
  const present = await client.get(postType, { namespace: '', name });
  if (holds(present)) return present;
  const signal = AbortSignal.timeout(60_000);
  for await (const event of await client.watch(postType, { resourceVersion, signal })) {
    if (event.type !== 'BOOKMARK' && event.object.metadata.name === name && holds(event.object)) return event.object;
  }
  throw new Error(`${name} did not become as wanted`);
}

const counting: ControllerDefinition = controllerFor(postType)
  .named('counting')
  .withPredicate(generationChanged)
  .reconcile(async ({ namespace, name }, context) => {
    const post = context.lister(postType).get({ namespace, name });
    if (post === undefined) return;
    await writeChanges(context.client, postType, post, {
      ...post,
      status: { words: post.spec!.title.split(' ').length },
    });
  });

test('a controller reconciles existing, new and changed objects', async () => {
  await client.create(postType, newPost('before', 'one two'));
  const manager = new Manager({ client, log: silent, controllers: [counting] });
  manager.start();
  try {
    await eventually('before', ({ status }) => status?.words === 2);
    await client.create(postType, newPost('after', 'one two three'));
    await eventually('after', ({ status }) => status?.words === 3);
    await client.patch(
      postType,
      { namespace: '', name: 'after' },
      { type: 'merge', patch: { spec: { title: 'one' } } },
    );
    await eventually('after', ({ status }) => status?.words === 1);
  } finally {
    await manager.stop();
  }
});

test('the start of a deletion increases the generation, so that generationChanged alone passes it', async () => {
  const finalizer = 'test.example.com/held';
  const releasing = controllerFor(postType)
    .named('releasing')
    .withPredicate(generationChanged)
    .reconcile(async ({ name }, context) => {
      const post = await context.client.get(postType, { namespace: '', name });
      if (post.metadata.deletionTimestamp !== undefined)
        await removeFinalizer(context.client, postType, post, finalizer);
      else await writeChanges(context.client, postType, post, { ...post, status: { words: 7 } });
    });
  const manager = new Manager({ client, log: silent, controllers: [releasing] });
  manager.start();
  try {
    await client.create(postType, { ...newPost('held', 'one'), metadata: { name: 'held', finalizers: [finalizer] } });
    const { metadata } = await eventually('held', ({ status }) => status?.words === 7);
    const { object } = await client.delete(postType, { namespace: '', name: 'held' });
    expect([metadata.generation, object?.metadata.generation]).toEqual([1, 2]);
    for await (const event of await client.watch(postType, {
      resourceVersion: metadata.resourceVersion,
      signal: AbortSignal.timeout(60_000),
    })) {
      if (event.type === 'DELETED' && event.object.metadata.name === 'held') return;
    }
    throw new Error('the finalizer was not removed');
  } finally {
    await manager.stop();
  }
});

test('a controller runs in one of two managers; when that stops the other takes over, with its own fence', async () => {
  const startHost = (
    of: Client,
    identity: string,
    counts: ControllerDefinition,
  ): { manager: Manager; leases: TaskLeases } => {
    const times = { durationMs: 60_000, deadlineMs: 50_000, retryMs: 100 };
    const leases = new TaskLeases({
      client: of,
      log: silent,
      identity,
      namespace: 'default',
      group: 'counting',
      ...times,
    });
    const manager = new Manager({ client: of, log: silent, controllers: [counts], leases });
    leases.start();
    manager.start();
    return { manager, leases };
  };
  const fences: Fence[] = [];
  const noting = controllerFor(postType)
    .named('noting')
    .reconcile(async ({ name }, context) => {
      fences.push(context.fence!);
      await context.client.patchStatus(
        postType,
        { namespace: '', name },
        { type: 'merge', patch: { status: { words: 100 } } },
      );
    });
  await client.create(postType, newPost('led', 'one'));
  const first = startHost(client, 'first', noting);
  await eventually('led', ({ status }) => status?.words === 100);
  const second = startHost(env.servers[1]!.client, 'second', noting);
  try {
    expect(second.manager.running).toEqual([]);
    await first.leases.stop();
    expect(first.manager.running).toEqual([]);
    await client.create(postType, newPost('led-by-second', 'one'));
    await eventually('led-by-second', ({ status }) => status?.words === 100);
    const lease = await client.get(leaseType, { namespace: 'default', name: 'counting.noting' });
    expect(lease.spec!.holderIdentity).toBe('second');
    expect([fences[0], fences.at(-1)]).toEqual(
      [0, 1].map((transitions) => ({ namespace: 'default', lease: 'counting.noting', transitions })),
    );
  } finally {
    for (const { manager, leases } of [first, second]) {
      await leases.stop();
      await manager.stop();
    }
  }
});
