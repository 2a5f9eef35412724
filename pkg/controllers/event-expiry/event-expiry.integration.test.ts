import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { formatTimestamp, type Client } from '#pkg/apimachinery/index';
import { eventType, type Event } from '#pkg/apis/index';
import { Manager, type Log, type ReconcileContext } from '#pkg/runtime/index';
import { startTestEnv, type TestEnv } from '../../testenv/index.ts';
import { eventExpiry } from './event-expiry.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Old enough is what was created, and last happened, before ten seconds from now. */
const ttlMs = -10_000;

let env: TestEnv;
let client: Client;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
});
afterAll(() => env.stop());

function newEvent(name: string, agoMs: number | undefined): Event {
  const times = agoMs === undefined ? {} : { lastTimestamp: formatTimestamp(Date.now() - agoMs) };
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace: 'default', name },
    involvedObject: { kind: 'Post', name: 'a' },
    reason: 'Seen',
    ...times,
  };
}

async function write(name: string, agoMs: number | undefined): Promise<void> {
  await client.create(eventType, newEvent(name, agoMs));
}

test('deletes events without a recent occurrence, page by page, and nothing else', async () => {
  const { resourceVersion } = await client.list(eventType);
  await Promise.all(Array.from({ length: 600 }, (_, i) => write(`old-${i}`, 60_000)));
  await write('timeless', undefined);
  await write('recent', -3_600_000);
  const manager = new Manager({ client, log: silent, controllers: [eventExpiry({ client, ttlMs })] });
  manager.start();
  const gone = new Set<string>();
  for await (const event of await client.watch(eventType, { resourceVersion, signal: AbortSignal.timeout(20_000) })) {
    if (event.type === 'DELETED') gone.add(event.object.metadata.name);
    if (gone.size === 601) break;
  }
  await manager.stop();
  expect((await client.list(eventType)).items.map(({ metadata }) => metadata.name)).toEqual(['recent']);
});

test('keeps a new event of something that happened long ago', async () => {
  await write('moved', 9 * 3_600_000);
  const context = { client, log: silent, signal: AbortSignal.timeout(20_000) } as unknown as ReconcileContext;
  await eventExpiry({ client }).begin().reconcile({ namespace: '', name: 'expired' }, context);
  expect((await client.list(eventType)).items.map(({ metadata }) => metadata.name)).toContain('moved');
  await client.delete(eventType, { namespace: 'default', name: 'moved' });
});

test('does not repeatedly delete an event that waits for its finalizers', async () => {
  await client.create(eventType, {
    ...newEvent('held', 60_000),
    metadata: { namespace: 'default', name: 'held', finalizers: ['example.com/hold'] },
  });
  let deletions = 0;
  const counting = {
    delete: (...args: Parameters<Client['delete']>) => {
      deletions += 1;
      return client.delete(...args);
    },
  } as Client;
  const context = { client: counting, log: silent, signal: AbortSignal.timeout(20_000) } as ReconcileContext;
  const { reconcile } = eventExpiry({ client, ttlMs }).begin();
  for (let rounds = 0; rounds < 2; rounds += 1)
    expect(await reconcile({ namespace: '', name: 'expired' }, context)).toEqual({ requeueAfterMs: 60_000 });
  expect(deletions).toBe(1);
  await client.patch(
    eventType,
    { namespace: 'default', name: 'held' },
    { type: 'merge', patch: { metadata: { finalizers: null } } },
  );
});

test('pauses before the next pass if many events remain that cannot be deleted', async () => {
  const held = {
    ...newEvent('held', 3_700_000),
    metadata: {
      namespace: 'default',
      name: 'held',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
  };
  const endless = {
    list: () => Promise.resolve({ resourceVersion: '1', items: [held], continue: 'more' }),
  } as unknown as Client;
  const marking = { delete: () => Promise.resolve({ object: held }) } as unknown as Client;
  const context = { client: marking, log: silent, signal: AbortSignal.timeout(20_000) } as ReconcileContext;
  expect(await eventExpiry({ client: endless }).begin().reconcile({ namespace: '', name: 'expired' }, context)).toEqual(
    { requeueAfterMs: 60_000 },
  );
});
