import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isFenceLost } from '#pkg/apimachinery/index';
import {
  BlindableClient,
  definePosts,
  FaultyClient,
  newPost,
  postType,
  startTestEnv,
  type TestEnv,
} from '../../testenv/index.ts';
import { controllerFor, Manager, TaskLeases, type ControllerDefinition, type Log } from '../index.ts';
import { leaseType } from '../leaderelection/lease.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let env: TestEnv;
beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  await definePosts(env);
});
afterAll(() => env.stop());

/** Signs every post with its number, and reports each refused write. */
function signing(number: number, refused: (name: string) => void): ControllerDefinition {
  return controllerFor(postType)
    .named('signing')
    .reconcile(async ({ namespace, name }, { client }) => {
      try {
        await client.patchStatus(
          postType,
          { namespace, name },
          { type: 'merge', patch: { status: { words: number } } },
        );
      } catch (error) {
        if (!isFenceLost(error)) throw error;
        refused(name);
      }
    });
}

async function signedBy(name: string, number: number): Promise<void> {
  const { client } = env.servers[0]!;
  const { resourceVersion } = await client.list(postType);
  if ((await client.get(postType, { namespace: '', name })).status?.words === number) return;
  for await (const event of await client.watch(postType, { resourceVersion, signal: AbortSignal.timeout(60_000) })) {
    if (event.type !== 'BOOKMARK' && event.object.metadata.name === name && event.object.status?.words === number)
      return;
  }
  throw new Error(`${name} was not signed by ${number}`);
}

test('writes of a deposed leader are refused, even if it does not know that it is deposed', async () => {
  const [first, second] = env.servers.map(({ client }) => client);
  const group = { log: silent, namespace: 'default', group: 'signing', retryMs: 50 };
  const faulty = new FaultyClient({ client: first!, seed: 1, rates: {} });
  const blindable = new BlindableClient(faulty);
  const refused = new Set<string>();
  let resolveRefused = (): void => {};
  const lastRefused = new Promise<void>((resolve) => (resolveRefused = resolve));
  // It trusts its lease for longer than the lease lasts and learns of no change, like a process that was paused.
  const deposedLeases = new TaskLeases({
    ...group,
    client: blindable.client,
    identity: 'deposed',
    durationMs: 1000,
    deadlineMs: 600_000,
  });
  const deposed = new Manager({
    client: first!,
    log: silent,
    leases: deposedLeases,
    controllers: [
      signing(1, (name) => {
        refused.add(name);
        if (name === 'after') resolveRefused();
      }),
    ],
  });
  const leaderLeases = new TaskLeases({
    ...group,
    client: second!,
    identity: 'leader',
    durationMs: 60_000,
    deadlineMs: 50_000,
  });
  const leader = new Manager({
    client: second!,
    log: silent,
    leases: leaderLeases,
    controllers: [signing(2, () => {})],
  });
  await first!.create(postType, newPost('before'));
  deposed.start();
  deposedLeases.start();
  try {
    await signedBy('before', 1);
    expect(refused.size).toBe(0);
    blindable.goBlind();
    faulty.setRates({ unavailable: 1 });
    leader.start();
    leaderLeases.start();
    await signedBy('before', 2);
    const { metadata, spec } = await first!.get(leaseType, { namespace: 'default', name: 'signing.signing' });
    expect(spec).toMatchObject({ holderIdentity: 'leader', leaseTransitions: 1 });
    await first!.create(postType, newPost('after'));
    await Promise.all([signedBy('after', 2), lastRefused]);
    expect(deposed.running).toEqual(['signing']);
    const { items } = await first!.list(postType);
    expect(items.map((post) => [post.metadata.name, post.status?.words])).toEqual([
      ['after', 2],
      ['before', 2],
    ]);
    // The first leader signed nothing after the lease had changed hands.
    const acquired = Number(metadata.resourceVersion);
    const seen: [number, number | undefined][] = [];
    for await (const event of await first!.watch(postType, {
      resourceVersion: '1',
      signal: AbortSignal.timeout(60_000),
    })) {
      if (event.type === 'BOOKMARK') continue;
      seen.push([Number(event.object.metadata.resourceVersion), event.object.status?.words]);
      if (event.object.metadata.name === 'after' && event.object.status?.words === 2) break;
    }
    expect(seen.filter(([revision, words]) => words === 1 && revision > acquired)).toEqual([]);
  } finally {
    faulty.heal();
    for (const each of [deposedLeases, deposed, leaderLeases, leader]) await each.stop();
  }
});
