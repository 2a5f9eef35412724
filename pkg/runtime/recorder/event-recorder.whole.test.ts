import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newForbidden, newServiceUnavailable, type Client, type Fence } from '#pkg/apimachinery/index';
import { eventType, type Event } from '#pkg/apis/index';
import { definePosts, newPost, postType, SeededRandom, startTestEnv, type TestEnv } from '../../testenv/index.ts';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { controllerFor, leaseType, Manager, type Log } from '../index.ts';
import { EventRecorder } from './event-recorder.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const seen = { type: 'Normal', reason: 'Seen', message: 'it was seen' } as const;

let env: TestEnv;
let client: Client;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await definePosts(env);
});
afterAll(() => env.stop());

async function eventsOf(name: string): Promise<Event[]> {
  return (
    await client.list(eventType, {
      namespace: 'default',
      fieldSelector: `involvedObject.name=${name},involvedObject.kind=Post`,
      sort: ['reason'],
    })
  ).items;
}

/**
 * Every other write of an event fails, before it reaches the server or after. Decided by the order of calls, because
 * events have random names. At most three failures in a row: a recorder gives up after five, and a lost response costs
 * one more.
 */
function troubled(random: SeededRandom): Pick<Client, 'create' | 'patch'> {
  let faults = 0;
  const write = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const chance = faults < 3 ? random.next() : 1;
    if (chance < 0.5) faults += 1;
    if (chance < 0.25) throw newServiceUnavailable('the server could not be reached');
    const result = await work();
    if (chance < 0.5) throw newServiceUnavailable('the answer was lost');
    faults = 0;
    return result;
  };
  return {
    create: (type, object, options) => write(() => client.create(type, object, options)),
    patch: (type, key, patch, options) => write(() => client.patch(type, key, patch, options)),
  };
}

test('a reconcile records events of its object; repetitions are counted', async () => {
  const post = await client.create(postType, newPost('told'));
  let reconcileCount = 0;
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const recording = controllerFor(postType, { fieldSelector: 'metadata.name=told' })
    .named('telling')
    .reconcile(async (_request, { events }) => {
      reconcileCount += 1;
      events.record(post, seen);
      if (reconcileCount === 5) end();
      return { requeueAfterMs: 1 };
    });
  const manager = new Manager({ client, log: silent, controllers: [recording] });
  manager.start();
  await ended;
  await manager.stop();
  const [event, ...others] = await eventsOf('told');
  expect(others).toEqual([]);
  expect(event).toMatchObject({
    ...seen,
    count: reconcileCount,
    involvedObject: { uid: post.metadata.uid, apiVersion: 'test.example.com/v1' },
    source: { component: 'telling' },
  });
});

test('events are found by the queries of Kubernetes clients', async () => {
  const recorder = new EventRecorder({ client, log: silent });
  recorder.sinkOf('posts').record(newPost('asked'), seen);
  recorder.sinkOf('posts').record(newPost('asked'), { ...seen, type: 'Warning', reason: 'Lost' });
  await recorder.stop(20_000);
  const answer = await env.request(
    '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dasked,involvedObject.kind%3DPost,type%3DWarning,reason%3DLost',
  );
  expect(await answer.json()).toMatchObject({ kind: 'EventList', items: [{ reason: 'Lost', count: 1 }] });
  const newest = await env.request('/api/v1/events?sort=lastTimestamp,desc&limit=1');
  expect(newest.status).toBe(200);
});

describe('a failing write', () => {
  test.each([1, 2, 3])('is retried: each event exists once, with its count (seed %i)', async (seed) => {
    const recorder = new EventRecorder({ client: troubled(new SeededRandom(seed)), log: silent });
    const name = `faulty-${seed}`;
    for (let i = 0; i < 6; i += 1) {
      recorder.sinkOf('posts').record(newPost(name), { ...seen, reason: `Seen${i % 3}` });
      await new Promise(setImmediate);
    }
    await recorder.stop(20_000);
    expect(recorder.dropped).toBe(0);
    expect((await eventsOf(name)).map(({ reason, count }) => [reason, count])).toEqual([
      ['Seen0', 2],
      ['Seen1', 2],
      ['Seen2', 2],
    ]);
  });

  test('of an event that has expired meanwhile creates a new one', async () => {
    const recorder = new EventRecorder({ client, log: silent });
    const sink = recorder.sinkOf('posts');
    sink.record(newPost('expired'), seen);
    let made: Event | undefined;
    while (made === undefined) [made] = await eventsOf('expired');
    await client.delete(eventType, { namespace: 'default', name: made.metadata.name });
    sink.record(newPost('expired'), seen);
    await recorder.stop(20_000);
    expect(await eventsOf('expired')).toMatchObject([{ count: 2 }]);
  });

  test('never throws: refused events are dropped, counted, and logged once', async () => {
    const warnings: string[] = [];
    const refusing: Pick<Client, 'create' | 'patch'> = {
      create: () => Promise.reject(newForbidden({ group: '', resource: 'events' }, '', 'no')),
      patch: () => Promise.reject(new Error('not asked')),
    };
    const recorder = new EventRecorder({
      client: refusing,
      log: { ...silent, warn: (_details, message) => warnings.push(message) },
    });
    const sink = recorder.sinkOf('posts');
    sink.record(newPost('a'), seen);
    sink.record(newPost('b'), seen);
    sink.record({ metadata: undefined } as never, seen);
    await recorder.stop();
    sink.record(newPost('c'), seen);
    expect(recorder.dropped).toBe(3);
    expect(warnings).toEqual(['dropped events']);
  });

  test('fills a bounded queue, and a stop waits no longer than its timeout', async () => {
    const hanging: Pick<Client, 'create' | 'patch'> = {
      create: (_type, _object, options) =>
        new Promise((_resolve, reject) =>
          options?.signal?.addEventListener('abort', () => reject(newServiceUnavailable('given up'))),
        ),
      patch: () => Promise.reject(new Error('not asked')),
    };
    const recorder = new EventRecorder({ client: hanging, log: silent });
    for (let i = 0; i < 1500; i += 1) recorder.sinkOf('posts').record(newPost(`many-${i}`), seen);
    expect(recorder.dropped).toBe(500);
    await recorder.stop(10);
    expect(recorder.dropped).toBe(1500);
  });

  test('of a deposed leader is not retried', async () => {
    await client.create(leaseType, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'default', name: 'telling' },
      spec: { holderIdentity: 'another', leaseTransitions: 2 },
    });
    const fence: Fence = { namespace: 'default', lease: 'telling', transitions: 1 };
    const recorder = new EventRecorder({ client, log: silent, fence });
    recorder.sinkOf('posts').record(newPost('deposed'), seen);
    await recorder.stop();
    expect(await eventsOf('deposed')).toEqual([]);
    expect(recorder.dropped).toBe(1);
  });

  test('with a lost fence of its own is dropped alone', async () => {
    await client.create(leaseType, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'default', name: 'lost-by-one' },
      spec: { holderIdentity: 'another', leaseTransitions: 2 },
    });
    const fenceOf = (transitions: number): Fence => ({ namespace: 'default', lease: 'lost-by-one', transitions });
    const recorder = new EventRecorder({ client, log: silent });
    const sink = recorder.sinkOf('posts');
    sink.record(newPost('lost'), seen, { fence: fenceOf(1) });
    sink.record(newPost('led'), seen, { fence: fenceOf(2) });
    sink.record(newPost('free'), seen);
    await pollUntil(async () => (await eventsOf('free')).length === 1, 20_000, 'the last event');
    sink.record(newPost('later'), seen);
    await pollUntil(async () => (await eventsOf('later')).length === 1, 20_000, 'an event after the loss');
    await recorder.stop();
    expect([(await eventsOf('lost')).length, (await eventsOf('led')).length]).toEqual([0, 1]);
    expect(recorder.dropped).toBe(1);
  });
});
