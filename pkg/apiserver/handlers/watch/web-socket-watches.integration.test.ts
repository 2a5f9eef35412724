import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket, type ClientOptions } from 'ws';
import { pollUntil } from '../../../testenv/faults/poll-until.ts';
import { defaultWatchTiming } from '../options/watch-timing.ts';
import { newTestPost, posts, startReplica, startTestApi, type TestApi } from '../start-test-api.ts';

let api: TestApi;
/** How watches ended, by the observer that metrics have. */
let ends: string[] = [];
/** Does every user still have all rights? */
let isAllowed = true;
let clients: WatchClient[] = [];

beforeAll(async () => {
  api = await startTestApi({
    handlers: {
      watch: {
        ...defaultWatchTiming,
        heartbeatMs: 50,
        bookmarkMs: 120,
        stallMs: 400,
        bufferLimit: 512 * 1024,
        closeGraceMs: 500,
        recheckMs: 50,
      },
      watchObserver: {
        began: () => undefined,
        ended: (how) => void ends.push(how),
        sent: () => undefined,
        delivered: () => undefined,
      },
    },
    http: { host: '127.0.0.1', port: 0, maxInFlight: { watchesPerUser: 5 } },
    authorizer: {
      authorize: () =>
        isAllowed
          ? Promise.resolve({ allowed: true, reason: '' })
          : Promise.resolve({ allowed: false, reason: 'no role' }),
    },
  });
});

afterEach(async () => {
  isAllowed = true;
  await Promise.all(clients.map(({ socket, closed }) => (socket.terminate(), closed)));
  clients = [];
});

afterAll(() => api?.stop());

interface Told {
  type: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of any shape
  object: any;
}

interface WatchClient {
  socket: WebSocket;
  events: Told[];
  /** The code and the reason of the end. */
  closed: Promise<{ code: number; reason: string }>;
}

/** Resolves when the WebSocket is open. */
async function open(query: string, options: ClientOptions = {}, url = api.url): Promise<WatchClient> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${posts}?watch=true${query}`, [], options);
  const events: Told[] = [];
  socket.on('message', (data: Buffer, isBinary) => {
    expect(isBinary).toBe(false);
    events.push(JSON.parse(data.toString()) as Told);
  });
  const closed = once(socket, 'close').then(([code, reason]) => ({ code: code as number, reason: String(reason) }));
  const client = { socket, events, closed };
  clients.push(client);
  await once(socket, 'open');
  return client;
}

/** The ordinary answer to a handshake. */
async function refused(query: string, options: ClientOptions = {}): Promise<{ status: number; reason: string }> {
  const socket = new WebSocket(`${api.url.replace('http', 'ws')}${posts}?watch=true${query}`, [], options);
  const [, response] = (await once(socket, 'unexpected-response')) as [
    unknown,
    { statusCode: number } & AsyncIterable<Buffer>,
  ];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const { reason } = JSON.parse(Buffer.concat(chunks).toString()) as { reason: string };
  return { status: response.statusCode, reason };
}

const changes = ({ events }: WatchClient): string[] =>
  events.filter(({ type }) => type !== 'BOOKMARK').map(({ type, object }) => `${type} ${object.metadata.name}`);
const create = (name: string, labels = {}, spec = {}) =>
  api.call('POST', posts, { body: newTestPost(name, spec, { labels }) });
const revision = async (): Promise<string> => (await api.call('GET', `${posts}?limit=1`)).body.metadata.resourceVersion;

describe('a watch over WebSocket', () => {
  test('starts with the objects, sends each change as a message, and resumes after a revision', async () => {
    await create('s1', { step: 'one' });
    const first = await open('&labelSelector=step');
    await create('s2', { step: 'two' });
    await api.call('DELETE', `${posts}/s1`);
    await pollUntil(() => changes(first).length === 3);
    expect(changes(first)).toEqual(['ADDED s1', 'ADDED s2', 'DELETED s1']);
    const resumed = await open(
      `&labelSelector=step&resourceVersion=${first.events[0]?.object.metadata.resourceVersion}`,
    );
    await pollUntil(() => changes(resumed).length === 2);
    expect(changes(resumed)).toEqual(['ADDED s2', 'DELETED s1']);
  });

  test('has bookmarks, and ends with 1000 at its time-out, after a last one', async () => {
    const client = await open(
      '&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1',
    );
    expect(await client.closed).toEqual({ code: 1000, reason: '' });
    expect(client.events.length).toBeGreaterThan(2);
    expect(client.events.every(({ type }) => type === 'BOOKMARK')).toBe(true);
  });

  test('sends Tables and metadata', async () => {
    await create('s3', { form: 'yes' });
    const of = async (accept: string): Promise<Told | undefined> => {
      const client = await open('&labelSelector=form', { headers: { accept } });
      await pollUntil(() => client.events.length === 1);
      return client.events[0];
    };
    expect(await of('application/json;as=Table;v=v1;g=meta.k8s.io')).toMatchObject({
      type: 'ADDED',
      object: { kind: 'Table', rows: [{ cells: expect.arrayContaining(['s3']) }] },
    });
    expect(await of('application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io')).toMatchObject({
      object: { kind: 'PartialObjectMetadata' },
    });
  });

  test('reports a revision that is no longer kept in a message, and ends with 1000', async () => {
    const from = await revision();
    await create('s4');
    await create('s5');
    await api.store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 3_600_000 });
    const replica = await startReplica(api.store);
    const client = await open(`&resourceVersion=${from}`, {}, replica.url);
    expect((await client.closed).code).toBe(1000);
    await replica.stop();
    expect(client.events).toMatchObject([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]);
  });

  test('reports lost rights in a message, and ends with 1000', async () => {
    const client = await open(`&resourceVersion=${await revision()}`);
    isAllowed = false;
    expect((await client.closed).code).toBe(1000);
    expect(client.events.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 403, reason: 'Forbidden' } });
  });

  test('ends with 1001, after a last bookmark, when the server shuts down', async () => {
    const own = await startTestApi();
    const client = await open('&allowWatchBookmarks=true', {}, own.url);
    await own.call('POST', posts, { body: newTestPost('last') });
    await pollUntil(() => changes(client).length === 1);
    await own.stop();
    expect(await client.closed).toEqual({ code: 1001, reason: 'the server is shutting down' });
    expect(client.events.at(-1)?.type).toBe('BOOKMARK');
  });
});

describe('an error before the upgrade is an ordinary answer', () => {
  test.each([
    ['&resourceVersion=abc', {}, 400, 'BadRequest'],
    ['&sendInitialEvents=true', {}, 422, 'Invalid'],
    ['', { accept: 'text/event-stream' }, 406, 'NotAcceptable'],
    ['&resourceVersion=999999999', {}, 504, 'Timeout'],
    ['', { origin: 'https://evil.example.net' }, 403, 'Forbidden'],
  ])('%p with %p: %i', async (query, headers, status, reason) => {
    expect(await refused(query, { headers })).toEqual({ status, reason });
  });

  test('without the right', async () => {
    isAllowed = false;
    expect(await refused('')).toEqual({ status: 403, reason: 'Forbidden' });
  });

  test('above the limit of watches of a user, who may have as many again when they have ended', async () => {
    const headers = { 'x-user': 'busy' };
    const held = await Promise.all(Array.from({ length: 5 }, () => open('', { headers })));
    expect(await refused('', { headers })).toEqual({ status: 429, reason: 'TooManyRequests' });
    held[0]!.socket.close();
    await held[0]!.closed;
    await pollUntil(async () => {
      const next = await open('', { headers }).catch(() => undefined);
      return next !== undefined;
    });
  });
});

describe('a client that fails', () => {
  test('one that does not read is disconnected, and no other is', async () => {
    const from = await revision();
    ends = [];
    const healthy = await open(`&resourceVersion=${from}&labelSelector=big`);
    // A socket that was never read has small buffers.
    const slow = connect(Number(new URL(api.url).port), '127.0.0.1').pause();
    slow.write(
      `GET ${posts}?watch=true&resourceVersion=${from}&labelSelector=big HTTP/1.1\r\nHost: slow\r\n` +
        'Connection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    const tags = Array.from({ length: 2000 }, () => 'y'.repeat(100));
    const count = 60;
    for (let i = 0; i < count; i += 1) await create(`big-${i}`, { big: 'yes' }, { tags: [...tags, String(i)] });
    await pollUntil(() => changes(healthy).length === count);
    await pollUntil(() => ends.length > 0);
    expect(ends).toEqual(['slow']);
    slow.resume();
    await once(slow, 'close');
  });

  test('one that does not answer pings is disconnected', async () => {
    ends = [];
    const client = await open(`&resourceVersion=${await revision()}`, { autoPong: false });
    expect((await client.closed).code).toBe(1008);
    expect(ends).toEqual(['slow']);
  });

  test('one that sends a message is disconnected with 1008, and its watch ends', async () => {
    ends = [];
    const client = await open('');
    client.socket.send('hello');
    expect(await client.closed).toEqual({ code: 1008, reason: 'a watch takes no messages' });
    await pollUntil(() => ends.length === 1);
    expect(ends).toEqual(['over']);
  });
});
