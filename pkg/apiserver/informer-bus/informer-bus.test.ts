import { expect, test } from '@jest/globals';
import pino from 'pino';
import { parseFieldSelector, type IndexDefinition } from '#pkg/apimachinery/index';
import { StorageError, type Change, type ChangeFeed, type ChangeListener } from '#pkg/storage/index';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { InformerBus, type BusWatchRequest } from './informer-bus.ts';
import { WatchGroup } from './watch-group.ts';

const index: IndexDefinition = {
  name: 'k',
  path: '',
  type: 'string',
  multi: false,
  unique: false,
  nullable: true,
  computed: { function: 'k', script: 's', id: 'k1' },
};
const created = (revision: number, keys?: string): Change => ({
  revision,
  modelId: 1,
  type: 'create',
  namespace: '',
  name: `o-${revision}`,
  body: '{}',
  fingerprint: 'f',
  ...(keys === undefined ? {} : { keys }),
});

/** One model whose computed index has been ready from the beginning. */
class Feed implements ChangeFeed {
  cursor = 0;
  readonly compacted = 0;
  readonly currentAt = 0;
  readonly told: Change[] = [];
  listener: ChangeListener = () => undefined;

  tell(...changes: Change[]): void {
    this.told.push(...changes);
    this.cursor = changes.at(-1)!.revision;
    this.listener(changes, this.cursor);
  }

  subscribe(listener: ChangeListener): () => void {
    this.listener = listener;
    return () => undefined;
  }

  catchUp(): Promise<number> {
    return Promise.resolve(this.cursor);
  }

  waitFor(): Promise<boolean> {
    return Promise.resolve(true);
  }

  read(_resource: unknown, after: number): Promise<{ changes: Change[]; upTo: number }> {
    return Promise.resolve({ changes: this.told.filter(({ revision }) => revision > after), upTo: this.cursor });
  }

  isLost(): boolean {
    return false;
  }

  incarnationOf(): ReturnType<ChangeFeed['incarnationOf']> {
    return Promise.resolve({ modelId: 1, replaces: 0, computedSince: new Map([['k1', 0]]) });
  }
}

function requestOf(after: number): BusWatchRequest & { heard: string[] } {
  const heard: string[] = [];
  const sink = {
    event: (type: string, { revision }: { revision: number }) => void heard.push(`${type} ${revision}`),
    end: (reason: string) => void heard.push(reason),
    fail: ({ message }: Error) => void heard.push(message),
  };
  return {
    resource: { group: 'g', resource: 'r' },
    reader: { text: () => ({ text: '{}', managed: '' }) },
    group: new WatchGroup(),
    selector: { labels: [], fields: parseFieldSelector(['k=v'], [index]) },
    after,
    sink,
    heard,
  };
}

test.each([{ ringCount: 20_000 }, { ringCount: 0 }])(
  'a change without the keys that a watch needs ends the watch before that change, and resuming is 410: %j',
  async ({ ringCount }) => {
    const feed = new Feed();
    const bus = new InformerBus({ changes: feed, log: pino({ level: 'silent' }), ringCount });
    const request = requestOf(0);
    const watch = await bus.watch(request);
    const keys = '{"k1":"v"}';
    feed.tell(created(1, keys), created(2), created(3, keys));
    expect([request.heard, watch.cursor]).toEqual([['ADDED 1', 'the definition of this resource was changed'], 1]);
    const resumed = requestOf(watch.cursor);
    await expect(bus.watch(resumed)).rejects.toMatchObject({
      reason: 'Expired',
      message: 'too old resource version: 1 (2)',
    });
    expect(resumed.heard).toEqual([]);
    const listed = requestOf(2);
    await bus.watch(listed);
    expect(listed.heard).toEqual(['ADDED 3']);
    bus.stop();
  },
);

test.each([{ ringCount: 20_000 }, { ringCount: 0 }])(
  'history is read in chunks and waits for a slow reader: %j',
  async ({ ringCount }) => {
    const feed = new Feed();
    const bus = new InformerBus({ changes: feed, log: pino({ level: 'silent' }), ringCount });
    const large = (revision: number): Change => ({
      ...created(revision),
      body: JSON.stringify({ text: 'x'.repeat(200_000) }),
    });
    feed.tell(large(1), large(2), large(3));
    const request = { ...requestOf(0), selector: { labels: [], fields: [] } };
    const taken: (() => void)[] = [];
    let isSlow = true;
    const drained = (): Promise<void> => (isSlow ? new Promise((resolve) => taken.push(resolve)) : Promise.resolve());
    const watching = bus.watch({ ...request, sink: { ...request.sink, drained } });
    for (let pieces = 1; pieces <= 3; pieces += 1) {
      await pollUntil(() => taken.length === pieces || request.heard.length > pieces);
      expect(request.heard).toEqual([1, 2, 3].slice(0, pieces).map((revision) => `ADDED ${revision}`));
      if (pieces === 2) feed.tell(large(4));
      isSlow = pieces < 3;
      taken.at(-1)!();
    }
    const watch = await watching;
    expect([request.heard.at(-1), watch.cursor]).toEqual(['ADDED 4', 4]);
    bus.stop();
  },
);

const quiet = pino({ level: 'silent' });
const everything = { labels: [], fields: [] };

test.each([{ ringCount: 20_000 }, { ringCount: 0 }])(
  'a change larger than a chunk of history is a separate chunk: %j',
  async ({ ringCount }) => {
    const feed = new Feed();
    const bus = new InformerBus({ changes: feed, log: quiet, ringCount });
    const huge = (revision: number): Change => ({
      ...created(revision),
      body: JSON.stringify({ text: 'x'.repeat(400_000) }),
    });
    feed.tell(huge(1), huge(2), created(3));
    const request = { ...requestOf(0), selector: everything };
    await bus.watch(request);
    expect(request.heard).toEqual(['ADDED 1', 'ADDED 2', 'ADDED 3']);
    bus.stop();
  },
);

test.each([{ ringCount: 20_000 }, { ringCount: 0 }])(
  'slow chunks of history yield to the event loop between them: %j',
  async ({ ringCount }) => {
    const feed = new Feed();
    const bus = new InformerBus({ changes: feed, log: quiet, ringCount });
    const large = (revision: number): Change => ({
      ...created(revision),
      body: JSON.stringify({ text: 'x'.repeat(300_000) }),
    });
    feed.tell(large(1), large(2), large(3));
    let turn = 0;
    const counting = setInterval(() => (turn += 1));
    const turns: number[] = [];
    const event = (): void => {
      turns.push(turn);
      // Longer than large work may block the event loop.
      for (const end = performance.now() + 15; performance.now() < end;);
    };
    const request = requestOf(0);
    await bus.watch({ ...request, selector: everything, sink: { ...request.sink, event } });
    clearInterval(counting);
    expect(new Set(turns).size).toBe(3);
    bus.stop();
  },
);

test('large history reserves memory before it is sent, and newer changes are sent after it', async () => {
  const feed = new Feed();
  const bus = new InformerBus({ changes: feed, log: quiet });
  const large = (revision: number): Change => ({
    ...created(revision),
    body: JSON.stringify({ text: 'x'.repeat(100_000) }),
  });
  const granted: (() => void)[] = [];
  const readBudget = {
    owner: 'user:a',
    admit: (bytes: number) =>
      new Promise<void>((resolve) => granted.push(() => resolve(expect(bytes).toBeGreaterThan(100_000)))),
    reportHeld: () => undefined,
  };
  feed.tell(created(1));
  const small = { ...requestOf(0), selector: everything, readBudget };
  await bus.watch(small);
  expect([small.heard, granted]).toEqual([['ADDED 1'], []]);
  feed.tell(large(2));
  const request = { ...requestOf(0), selector: everything, readBudget };
  const watching = bus.watch(request);
  await pollUntil(() => granted.length === 1);
  feed.tell(created(3));
  expect(request.heard).toEqual([]);
  granted[0]!();
  // By then there is a little more history than the requested room.
  await pollUntil(() => granted.length === 2);
  granted[1]!();
  const watch = await watching;
  feed.tell(created(4));
  expect([request.heard, watch.cursor]).toEqual([['ADDED 1', 'ADDED 2', 'ADDED 3', 'ADDED 4'], 4]);
  const refused = {
    ...requestOf(1),
    selector: everything,
    readBudget: { ...readBudget, admit: () => Promise.reject(new Error('no room')) },
  };
  await expect(bus.watch(refused)).rejects.toThrow('no room');
  expect(refused.heard).toEqual([]);
  expect(refused.group.size).toBe(0);
  bus.stop();
});

test.each([{ ringCount: 20_000 }, { ringCount: 0 }])(
  'the reserved memory of history never shrinks until all of it is sent: %j',
  async ({ ringCount }) => {
    const feed = new Feed();
    const bus = new InformerBus({ changes: feed, log: quiet, ringCount });
    const sized = (revision: number, size: number): Change => ({
      ...created(revision),
      body: JSON.stringify({ text: 'x'.repeat(size) }),
    });
    feed.tell(sized(1, 400_000), sized(2, 1000), sized(3, 300_000), created(4));
    const settled: number[] = [];
    const readBudget = {
      owner: 'user:a',
      admit: async () => undefined,
      reportHeld: (bytes: number) => void settled.push(bytes),
    };
    await bus.watch({ ...requestOf(0), selector: everything, readBudget });
    expect(settled.length).toBeGreaterThan(0);
    expect(settled.every((bytes) => bytes > 400_000)).toBe(true);
    bus.stop();
  },
);

test('a watch from a revision before the current model is 410', async () => {
  const feed = new Feed();
  feed.incarnationOf = () => Promise.resolve({ modelId: 1, replaces: 2, computedSince: new Map() });
  const bus = new InformerBus({ changes: feed, log: quiet });
  feed.tell(created(1), created(2), created(3));
  await expect(bus.watch({ ...requestOf(1), selector: everything })).rejects.toMatchObject({
    reason: 'Expired',
    message: 'too old resource version: 1 (2)',
  });
  const request = { ...requestOf(2), selector: everything };
  await bus.watch(request);
  expect(request.heard).toEqual(['ADDED 3']);
  bus.stop();
});

test('history that is compacted while it is read is 410, and history that cannot be read is 503', async () => {
  const feed = new Feed();
  const bus = new InformerBus({ changes: feed, log: quiet, ringCount: 0 });
  feed.tell(created(1), created(2));
  feed.read = () => Promise.reject(new StorageError('Compacted', 'gone'));
  await expect(bus.watch({ ...requestOf(1), selector: everything })).rejects.toMatchObject({
    reason: 'Expired',
    message: 'too old resource version: 1 (0)',
  });
  feed.read = (_resource, after) => Promise.resolve({ changes: [], upTo: after });
  await expect(bus.watch({ ...requestOf(1), selector: everything })).rejects.toMatchObject({
    code: 503,
    message: 'the change history cannot be read at present',
  });
  bus.stop();
});

test('the cursor does not go back', () => {
  const feed = new Feed();
  const bus = new InformerBus({ changes: feed, log: quiet });
  feed.tell(created(1), created(4));
  feed.listener([], 3);
  expect(bus.cursor).toBe(4);
  bus.stop();
});
