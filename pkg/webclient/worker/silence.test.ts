import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { connect, type ServerConnection } from '../connect.ts';
import { live } from '../live/live.ts';
import { noteModel } from '../webclienttest/note-model.ts';
import type { FeedPort } from './feed-port.ts';
import { protocol, type WorkerMessage } from './messages.ts';
import { SharedFeeds, serveTab } from './serve-tabs.ts';
import { sharedWorkerFeeds } from './shared-worker-feeds.ts';

const session = { url: 'http://server.test', csrfToken: 'token' };

/** Answers a list without objects, and a stream with a sign of life every 10 s. */
const answer: typeof fetch = (url, init) => {
  const { pathname } = new URL(url);
  if (pathname.endsWith('/current/'))
    return Promise.resolve(Response.json({ csrf_token: session.csrfToken, user: { username: 'ada' } }));
  if (!pathname.endsWith('/streams'))
    return Promise.resolve(Response.json({ items: [], metadata: { resourceVersion: '1' } }));
  const { subscriptions } = JSON.parse(init!.body as string) as { subscriptions: { id: string }[] };
  const text = subscriptions
    .map(({ id }) => `${JSON.stringify({ id, type: 'BOOKMARK', object: { metadata: { resourceVersion: '1' } } })}\n`)
    .join('');
  const body = new ReadableStream<Uint8Array>({
    start: (stream) => {
      const send = (): void => stream.enqueue(new TextEncoder().encode(text));
      send();
      const beat = setInterval(send, 10_000);
      init!.signal!.addEventListener('abort', () => {
        clearInterval(beat);
        stream.error(init!.signal!.reason);
      });
    },
  });
  return Promise.resolve(new Response(body));
};

class TestPort implements FeedPort {
  other!: TestPort;
  isOpen = true;
  /** Does what the other side sends arrive? */
  isReached = true;
  readonly received: unknown[] = [];
  readonly #listeners: ((event: { data: unknown }) => void)[] = [];

  static pair(): [TestPort, TestPort] {
    const [a, b] = [new TestPort(), new TestPort()];
    [a.other, b.other] = [b, a];
    return [a, b];
  }

  postMessage(data: unknown, _transfer: []): void {
    const { other } = this;
    if (this.isOpen && other.isReached) queueMicrotask(() => other.#receive(data));
  }

  addEventListener(_type: 'message', listener: (event: { data: unknown }) => void): void {
    this.#listeners.push(listener);
  }

  start(): void {}

  close(): void {
    this.isOpen = false;
  }

  #receive(data: unknown): void {
    this.received.push(data);
    if (this.isOpen) for (const listener of this.#listeners) listener({ data });
  }
}

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
});
afterEach(() => {
  jest.useRealTimers();
  session.csrfToken = 'token';
});

/** A page whose every worker is another one. */
async function startPage(): Promise<{
  server: ServerConnection;
  list: ReturnType<typeof live>;
  ports: TestPort[];
  feeds: SharedFeeds[];
}> {
  const ports: TestPort[] = [];
  const feeds: SharedFeeds[] = [];
  const open = (): { port: FeedPort; addEventListener: () => void } => {
    const [page, worker] = TestPort.pair();
    ports.push(page);
    feeds.push(new SharedFeeds({ fetch: answer }));
    serveTab(worker, feeds.at(-1)!);
    return { port: page, addEventListener: () => undefined };
  };
  const server = connect({ url: session.url, fetch: answer, feeds: sharedWorkerFeeds(open) });
  await server.currentSession();
  const list = live(server.resource(noteModel));
  await jest.advanceTimersByTimeAsync(1000);
  expect([list.state.name, ports.length]).toEqual(['live', 1]);
  return { server, list, ports, feeds };
}

test('a page is stale 25 s after the last message of its worker, and asks another one', async () => {
  const { list, ports } = await startPage();
  const states: string[] = [];
  list.subscribe(() => states.push(list.state.name));
  await jest.advanceTimersByTimeAsync(120_000);
  expect(new Set(states)).toEqual(new Set(['live']));
  const { length } = ports[0]!.received;
  while (ports[0]!.received.length === length) await jest.advanceTimersByTimeAsync(1);
  ports[0]!.isReached = false;
  await jest.advanceTimersByTimeAsync(24_998);
  expect([list.state.name, ports.length]).toEqual(['live', 1]);
  await jest.advanceTimersByTimeAsync(2);
  expect(list.state.name).toBe('stale');
  await jest.advanceTimersByTimeAsync(1000);
  expect([list.state.name, ports.length]).toEqual(['live', 2]);
  list.stop();
});

test('a page whose worker falls silent before it has the list is stale 25 s later', async () => {
  const hanging: typeof fetch = (url, init) =>
    new URL(url).pathname.endsWith('/notes') ? new Promise(() => undefined) : answer(url, init);
  const [page, worker] = TestPort.pair();
  let workers = 0;
  const open = (): { port: FeedPort; addEventListener: () => void } => {
    workers += 1;
    if (workers > 1) throw new ReferenceError('the test has one worker');
    serveTab(worker, new SharedFeeds({ fetch: hanging }));
    return { port: page, addEventListener: () => undefined };
  };
  const server = connect({ url: session.url, fetch: answer, feeds: sharedWorkerFeeds(open) });
  await server.currentSession();
  const list = live(server.resource(noteModel));
  await jest.advanceTimersByTimeAsync(0);
  page.isReached = false;
  await jest.advanceTimersByTimeAsync(24_999);
  expect(list.state.name).toBe('loading');
  await jest.advanceTimersByTimeAsync(1);
  expect(list.state).toMatchObject({ name: 'stale', failure: { code: 503 } });
  await jest.advanceTimersByTimeAsync(1000);
  expect(list.state.name).toBe('live');
  list.stop();
});

test('a worker forgets a page that took nothing for 60 s, and tells it, so that it asks anew at once', async () => {
  const { list, ports, feeds } = await startPage();
  const [asleep, worker] = TestPort.pair();
  serveTab(worker, feeds[0]!);
  const selection = { model: noteModel, namespace: '', query: {}, hasObjects: true };
  asleep.postMessage({ type: 'open', id: 1, session, selection }, []);
  await jest.advanceTimersByTimeAsync(0);
  list.stop();
  await jest.advanceTimersByTimeAsync(59_999);
  const isOver = ({ received }: TestPort): boolean => (received.at(-1) as { isOver?: boolean }).isOver === true;
  expect([isOver(asleep), feeds[0]!.size]).toEqual([false, 1]);
  await jest.advanceTimersByTimeAsync(10_001);
  expect([isOver(asleep), feeds[0]!.size]).toEqual([true, 0]);
  // One that follows nothing is kept, because it takes the signs of life.
  expect([isOver(ports[0]!), ports[0]!.received[0]]).toEqual([false, { protocol }]);
});

test('a page whose worker has forgotten it asks anew at once', async () => {
  const { list, ports } = await startPage();
  ports[0]!.other.postMessage({ updates: [], isOver: true } satisfies WorkerMessage, []);
  // A message that was on its way is nothing any more.
  ports[0]!.other.postMessage({ updates: [], isOver: true } satisfies WorkerMessage, []);
  await jest.advanceTimersByTimeAsync(0);
  expect(list.state.name).toBe('catching up');
  await jest.advanceTimersByTimeAsync(1000);
  expect([list.state.name, ports.length]).toEqual(['live', 2]);
  list.stop();
});

test('a page that slept until its new worker had forgotten it asks anew', async () => {
  let opened = 0;
  const open = (): { port: FeedPort; addEventListener: () => void } => {
    const [page, worker] = TestPort.pair();
    opened += 1;
    serveTab(worker, new SharedFeeds({ fetch: answer }));
    if (opened === 1) worker.postMessage({ updates: [], isOver: true }, []);
    return { port: page, addEventListener: () => undefined };
  };
  const server = connect({ url: session.url, fetch: answer, feeds: sharedWorkerFeeds(open) });
  await server.currentSession();
  const list = live(server.resource(noteModel));
  await jest.advanceTimersByTimeAsync(1000);
  expect([list.state.name, opened]).toEqual(['live', 2]);
  list.stop();
});

test('a page that may not list asks again and again, and keeps nothing of each try', async () => {
  const refuse: typeof fetch = (url, init) =>
    new URL(url).pathname.endsWith('/notes') ? Promise.resolve(new Response('{}', { status: 403 })) : answer(url, init);
  const [page, worker] = TestPort.pair();
  const open = (): { port: FeedPort; addEventListener: () => void } => {
    serveTab(worker, new SharedFeeds({ fetch: refuse }));
    return { port: page, addEventListener: () => undefined };
  };
  const server = connect({ url: session.url, fetch: answer, feeds: sharedWorkerFeeds(open) });
  await server.currentSession();
  const list = live(server.resource(noteModel));
  await jest.advanceTimersByTimeAsync(120_000);
  expect(list.state).toMatchObject({ name: 'stale', failure: { code: 403 } });
  const sent = (type: string): number =>
    worker.received.filter((message) => (message as { type: string }).type === type).length;
  expect(sent('open')).toBeGreaterThan(5);
  expect(sent('open') - sent('close')).toBeLessThanOrEqual(1);
  list.stop();
});

test('a worker that does not answer within 5 s is not used', async () => {
  const server = connect({
    url: session.url,
    fetch: answer,
    feeds: sharedWorkerFeeds(() => ({ port: TestPort.pair()[0], addEventListener: () => undefined })),
  });
  await server.currentSession();
  const list = live(server.resource(noteModel));
  await jest.advanceTimersByTimeAsync(4999);
  expect(list.state.name).toBe('loading');
  await jest.advanceTimersByTimeAsync(1000);
  expect(list.state.name).toBe('live');
  list.stop();
});

test('a page that has another session by now asks its worker anew, as that session', async () => {
  const { server, list, ports, feeds } = await startPage();
  const told = (): string[] =>
    ports[0]!.other.received.flatMap((message) => {
      const { type, session: whose } = message as { type: string; session?: typeof session };
      return type === 'open' ? [whose!.csrfToken] : type === 'close' ? ['close'] : [];
    });
  await server.currentSession();
  await jest.advanceTimersByTimeAsync(20_000);
  expect(told()).toEqual(['token']);
  session.csrfToken = 'another';
  await server.currentSession();
  // The next news of the list, which may be its sign of life.
  await jest.advanceTimersByTimeAsync(11_000);
  expect([told(), list.state.name, ports.length]).toEqual([['token', 'close', 'another'], 'live', 1]);
  expect(feeds[0]!.size).toBe(1);
  list.stop();
});
