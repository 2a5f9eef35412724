import { getEventListeners } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { newExpired } from '#pkg/apimachinery/index';
import type { RequestBytes, RequestContext } from '#pkg/http/index';
import type { SharedRepresentation } from '../../rest/served-resource.ts';
import { WatchConnection, type WatchConnectionOptions } from './watch-connection.ts';
import { printerColumns } from '../../table/table-columns.ts';
import { watchFormat } from './watch-format.ts';
import { defaultWatchTiming } from '../options/watch-timing.ts';

/** A connection in memory; the test decides when its client reads. */
class Socket extends Duplex {
  #text = '';
  readonly #unread: (() => void)[] = [];

  constructor() {
    super({ writableHighWaterMark: 1 });
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#text += chunk.toString();
    this.#unread.push(done);
  }

  /** Resolves when everything written has been read; returns the events and the newlines between them. */
  async readAll(): Promise<string[]> {
    // Data written in one turn reaches the connection in the next.
    for (await turn(); this.#unread.length > 0; await turn()) for (const done of this.#unread.splice(0)) done();
    return this.#text
      .split('\r\n')
      .filter((line) => line.startsWith('{') || line === '\n')
      .map((line) => line.trimEnd());
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const text = (name: string): string => `{"kind":"Post","metadata":{"name":"${name}"}}`;
const added = (name: string): string => `{"type":"ADDED","object":${text(name)}}`;
const bookmark = (revision: number): string =>
  `{"type":"BOOKMARK","object":{"kind":"Post","apiVersion":"blog.example.com/v1","metadata":{"resourceVersion":"${revision}"}}}`;

function object(name: string): SharedRepresentation {
  const made = { text: text(name), managed: '' };
  return {
    revision: 1,
    length: made.text.length,
    prepared: () => undefined,
    text: () => made,
    encoded: (_format, make) => make(made),
  };
}

let draining: AbortController;
let gone: AbortController;
let told: string[];
/** The bytes that the request holds of the budget. `room` is their maximum. */
let held: number;
let room: number;
const bytes: Pick<RequestBytes, 'tryAdmit' | 'raiseTo' | 'lowerTo'> = {
  tryAdmit: (wanted) => {
    if (wanted > room) return false;
    held = Math.max(held, wanted);
    return true;
  },
  raiseTo: (there) => void (held = Math.max(held, there)),
  lowerTo: (most) => void (held = Math.min(held, most)),
};

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  [draining, gone, told, held, room] = [new AbortController(), new AbortController(), [], 0, Infinity];
});
afterEach(() => void jest.useRealTimers());

/** Creates Node's own request and response on the connection in memory. */
async function open(
  input: Omit<Partial<WatchConnectionOptions>, 'options'> & {
    options?: Partial<WatchConnectionOptions['timing']>;
  } = {},
): Promise<{ socket: Socket; response: ServerResponse; connection: WatchConnection }> {
  const socket = new Socket();
  const { request, response } = await new Promise<{ request: IncomingMessage; response: ServerResponse }>((resolve) => {
    createServer((incoming, outgoing) => resolve({ request: incoming, response: outgoing })).emit('connection', socket);
    socket.push('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
  });
  const context = {
    request,
    response,
    warnings: [],
    user: { name: 'ada', uid: '', groups: [] },
    info: { path: '/' },
    log: pino({ level: 'silent' }),
    draining: draining.signal,
    signal: gone.signal,
    bytes,
  };
  const connection = new WatchConnection({
    context: context as unknown as RequestContext,
    kind: { group: 'blog.example.com', version: 'v1', kind: 'Post' },
    format: watchFormat('application/json', { query: new URLSearchParams(), columns: () => printerColumns([]) }),
    bookmarks: false,
    durationMs: 3_600_000,
    observer: {
      began: () => told.push('began'),
      ended: (how) => told.push(how),
      sent: () => told.push('sent'),
      delivered: () => undefined,
    },
    ...input,
    timing: { ...defaultWatchTiming, ...input.options },
  });
  void connection.ended.then(() => connection.dispose());
  return { socket, response, connection };
}

test('a client that reads nothing for stallMs is disconnected; any read starts the time again', async () => {
  const { socket, connection } = await open({ options: { heartbeatMs: 1000, stallMs: 3000 } });
  connection.event('ADDED', object('a'));
  jest.advanceTimersByTime(2500);
  await socket.readAll();
  connection.event('ADDED', object('b'));
  jest.advanceTimersByTime(3000);
  expect(connection.over).toBe(false);
  jest.advanceTimersByTime(1000);
  expect(connection.over).toBe(true);
  await turn();
  expect(told).toEqual(['began', 'sent', 'sent', 'slow']);
});

test('a client with more than bufferLimit unread bytes is disconnected, but one event may be larger', async () => {
  const { socket, connection } = await open({ options: { bufferLimit: 100 } });
  const large = 'x'.repeat(1000);
  connection.begin();
  await socket.readAll();
  connection.event('ADDED', object(large));
  expect(connection.over).toBe(false);
  expect(await socket.readAll()).toEqual([added(large)]);
  connection.event('ADDED', object(large));
  connection.event('ADDED', object('unread'));
  expect(connection.over).toBe(true);
  expect(await socket.readAll()).toEqual([added(large), added(large)]);
  expect(told.at(-1)).toBe('slow');
});

const following = { cursor: 7, stop: () => undefined };
const hundredKilobytes = 'x'.repeat(100_000);

test('unread large events count as memory, and a client is disconnected if there is none for them', async () => {
  const { socket, connection } = await open();
  connection.follow(following);
  connection.event('ADDED', object('small'));
  expect(held).toBe(0);
  connection.event('ADDED', object(hundredKilobytes));
  expect(held).toBeGreaterThan(100_000);
  connection.event('ADDED', object(hundredKilobytes));
  expect(held).toBeGreaterThan(200_000);
  expect(await socket.readAll()).toEqual([added('small'), added(hundredKilobytes), added(hundredKilobytes)]);
  expect([connection.over, held]).toEqual([false, 0]);
  room = 150_000;
  connection.event('ADDED', object(hundredKilobytes));
  connection.event('ADDED', object(hundredKilobytes));
  expect(connection.over).toBe(true);
  expect(await socket.readAll()).toHaveLength(4);
  expect(told.at(-1)).toBe('slow');
});

test('history holds its reserved memory while it is sent, and then as much as is unread', async () => {
  const { socket, connection } = await open();
  held = 1_000_000;
  connection.event('ADDED', object('small'));
  await socket.readAll();
  connection.event('ADDED', object(hundredKilobytes));
  expect(held).toBe(1_000_000);
  connection.follow(following);
  expect(held).toBeGreaterThan(100_000);
  expect(held).toBeLessThan(110_000);
  await socket.readAll();
  expect(held).toBe(0);
});

test('a silent stream has a heartbeat, and a stream with events has none', async () => {
  const { socket, connection } = await open({ options: { heartbeatMs: 1000 } });
  connection.begin();
  await socket.readAll();
  jest.advanceTimersByTime(1000);
  expect(await socket.readAll()).toEqual(['']);
  connection.event('ADDED', object('a'));
  await socket.readAll();
  jest.advanceTimersByTime(1000);
  expect(await socket.readAll()).toEqual(['', added('a')]);
  jest.advanceTimersByTime(1000);
  expect(await socket.readAll()).toEqual(['', added('a'), '']);
});

test('initial objects are sent at the pace of the client, and stop with the watch', async () => {
  const { socket, connection } = await open();
  const written = connection.writeObjects(
    ['a', 'b', 'c'].map((name) => ({ revision: 1, namespace: '', name, text: text(name), managed: '' })),
  );
  await turn();
  expect(told).toEqual(['began', 'sent']);
  connection.end('the model was removed');
  await written;
  expect(await socket.readAll()).toEqual([added('a')]);
});

test.each<[string, (connection: WatchConnection) => void]>([
  ['its time is over', () => jest.advanceTimersByTime(3_600_000)],
  ['the server drains', () => draining.abort()],
  ['the model was deleted', (connection) => connection.end('the model was removed')],
])('when %s a watch ends with a bookmark of its position', async (_reason, end) => {
  const { socket, connection } = await open({
    bookmarks: true,
    options: { heartbeatMs: 10_000_000, bookmarkMs: 10_000_000 },
  });
  connection.begin();
  connection.follow({ cursor: 7, stop: () => undefined });
  end(connection);
  connection.event('ADDED', object('late'));
  expect(await socket.readAll()).toEqual([bookmark(7)]);
  expect(told).toEqual(['began', 'over']);
});

test('a watch that asks for bookmarks gets them periodically', async () => {
  const { socket, connection } = await open({ bookmarks: true, options: { bookmarkMs: 1000 } });
  const stream = { cursor: 7, stop: () => undefined };
  connection.follow(stream);
  jest.advanceTimersByTime(1000);
  stream.cursor = 9;
  jest.advanceTimersByTime(1000);
  expect(await socket.readAll()).toEqual([bookmark(7), bookmark(9)]);
});

test('an error is sent and ends the stream', async () => {
  const { socket, connection } = await open();
  connection.fail(newExpired('too old'));
  connection.fail(newExpired('twice'));
  expect((await socket.readAll()).map((line) => JSON.parse(line) as object)).toMatchObject([
    { type: 'ERROR', object: { code: 410, message: 'too old' } },
  ]);
});

test('a client that does not read the end is disconnected after closeGraceMs', async () => {
  const { response, connection } = await open({ options: { closeGraceMs: 500 } });
  connection.event('ADDED', object('a'));
  connection.close();
  jest.advanceTimersByTime(499);
  expect(response.destroyed).toBe(false);
  jest.advanceTimersByTime(1);
  expect(response.destroyed).toBe(true);
});

test('a disconnected client ends the watch at once, and leaves no timer and no listener', async () => {
  const { response, connection } = await open();
  const written = connection.writeObjects(
    ['a', 'b'].map((name) => ({ revision: 1, namespace: '', name, text: text(name), managed: '' })),
  );
  gone.abort();
  await written;
  await connection.ended;
  await turn();
  expect([response.destroyed, told, jest.getTimerCount(), response.listenerCount('drain')]).toEqual([
    true,
    ['began', 'sent', 'over'],
    0,
    0,
  ]);
  connection.dispose();
  expect(told).toEqual(['began', 'sent', 'over']);
  expect([draining, gone].map(({ signal }) => getEventListeners(signal, 'abort').length)).toEqual([0, 0]);
});
