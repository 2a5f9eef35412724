import { getEventListeners, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  newNotFound,
  type AnyObject,
  type ClientEvent,
  type EventStream,
  type ResourceType,
} from '#pkg/apimachinery/index';
import { waitMs, pollUntil } from '../../testenv/faults/poll-until.ts';
import { RestClient, type RestClientOptions } from './rest-client.ts';
import { answerJson, startScriptedServer, type Answerer, type ScriptedServer } from './start-scripted-server.ts';

const posts: ResourceType = {
  group: 'blog.example.com',
  version: 'v1',
  kind: 'Post',
  plural: 'posts',
  namespaced: true,
  hasStatusSubresource: true,
};
const namespaces: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  hasStatusSubresource: true,
};
const key = { namespace: 'default', name: 'a' };
const post: AnyObject = {
  apiVersion: 'blog.example.com/v1',
  kind: 'Post',
  metadata: { namespace: 'default', name: 'a' },
};
const stored = { ...post, metadata: { ...post.metadata, uid: 'u', resourceVersion: '7', creationTimestamp: 'x' } };

let peer: ScriptedServer | undefined;
let client: RestClient | undefined;
afterEach(async () => {
  client?.close();
  await peer?.stop();
});

/** A client of a peer with these responses. */
async function clientOf(answer: Answerer, options: RestClientOptions & { path?: string } = {}): Promise<RestClient> {
  peer = await startScriptedServer(answer);
  client = RestClient.connect({ url: peer.url + (options.path ?? ''), token: 'pat_x', ...options });
  return client;
}

function sent(): string[] {
  return peer!.requests.map(({ method, url }) => `${method} ${url}`);
}

describe('requests', () => {
  test('have the paths, parameters and bodies of every verb', async () => {
    const api = await clientOf((response, { method }) =>
      answerJson(response, 200, method === 'DELETE' ? { kind: 'Status', details: { uid: 'u' } } : stored),
    );
    await api.get(posts, key);
    await api.get(namespaces, { namespace: '', name: 'x' });
    await api.create(posts, post, { dryRun: true, fieldValidation: 'Strict' });
    await api.update(posts, post);
    await api.updateStatus(posts, post, { fence: { namespace: 'default', lease: 'publishing', transitions: 3 } });
    await api.patch(posts, key, { type: 'merge', patch: { spec: { a: 1 } } });
    await api.patchStatus(posts, key, { type: 'json', patch: [] });
    expect(
      await api.delete(posts, key, { uid: 'u', resourceVersion: '7', propagationPolicy: 'Foreground', dryRun: true }),
    ).toEqual({ uid: 'u' });
    const object = '/apis/blog.example.com/v1/namespaces/default/posts/a';
    expect(sent()).toEqual([
      `GET ${object}`,
      'GET /api/v1/namespaces/x',
      'POST /apis/blog.example.com/v1/namespaces/default/posts?dryRun=All&fieldValidation=Strict',
      `PUT ${object}`,
      `PUT ${object}/status`,
      `PATCH ${object}`,
      `PATCH ${object}/status`,
      `DELETE ${object}?dryRun=All`,
    ]);
    const [get, , create, , status, merge, patch, remove] = peer!.requests;
    expect(get!.headers).toMatchObject({ authorization: 'Bearer pat_x', accept: 'application/json' });
    expect(JSON.parse(create!.body)).toEqual(post);
    expect(create!.headers['content-type']).toBe('application/json');
    expect(status!.headers['x-svc-fence']).toBe('default/publishing@3');
    expect([merge!.headers['content-type'], merge!.body]).toEqual(['application/merge-patch+json', '{"spec":{"a":1}}']);
    expect([patch!.headers['content-type'], patch!.body]).toEqual(['application/json-patch+json', '[]']);
    expect(JSON.parse(remove!.body)).toEqual({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid: 'u', resourceVersion: '7' },
      propagationPolicy: 'Foreground',
      dryRun: ['All'],
    });
  });

  test('an API may be below a path, and names are encoded in it', async () => {
    const api = await clientOf((response) => answerJson(response, 200, stored), { path: '/clusters/one/' });
    await api.get(
      { ...namespaces, group: 'rbac.authorization.k8s.io', plural: 'clusterroles' },
      { namespace: '', name: 'system:ä?#' },
    );
    expect(sent()).toEqual(['GET /clusters/one/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3A%C3%A4%3F%23']);
  });

  test('impersonate a user, with every request', async () => {
    const api = await clientOf(
      (response, { url }) => (url!.includes('watch') ? void response.end() : answerJson(response, 200, stored)),
      { impersonate: { user: 'system:plugin:bl\u00f6g', groups: ['a', 'b'] } },
    );
    await api.get(posts, key);
    await api.patch(posts, key, { type: 'merge', patch: {} });
    await api.watch(posts, { resourceVersion: '7' });
    const latin1 = Buffer.from('system:plugin:bl\u00f6g').toString('latin1');
    for (const { headers } of peer!.requests)
      expect(headers).toMatchObject({
        authorization: 'Bearer pat_x',
        'impersonate-user': latin1,
        'impersonate-group': 'a, b',
      });
    expect(peer!.requests).toHaveLength(3);
  });

  test.each([[''], [' ann'], ['ann\n'], ['a\u0000b'], ['a\r\nX-A: b']])('nobody acts as %j', (user) => {
    expect(() => RestClient.connect({ url: 'http://127.0.0.1:1', impersonate: { user } })).toThrow(
      expect.objectContaining({ name: 'TypeError' }),
    );
  });

  test('lists and watches', async () => {
    const api = await clientOf((response, request) => {
      if (request.url!.includes('watch')) response.end();
      else
        answerJson(response, 200, {
          metadata: { resourceVersion: '7', ...(request.url!.includes('continue') ? {} : { continue: 'n&xt' }) },
          items: [stored],
        });
    });
    const list = await api.list(posts, {
      namespace: 'default',
      labelSelector: 'a=b,c',
      fieldSelector: 'd>1',
      sort: ['e', 'f,desc'],
    });
    expect(list).toEqual({ resourceVersion: '7', items: [stored, stored] });
    expect(await api.list(posts, { limit: 1 })).toEqual({ resourceVersion: '7', items: [stored], continue: 'n&xt' });
    await api.watch(posts, { resourceVersion: '7', labelSelector: 'a' });
    const query = 'labelSelector=a%3Db%2Cc&fieldSelector=d%3E1&sort=e&sort=f%2Cdesc&limit=500';
    expect(sent()).toEqual([
      `GET /apis/blog.example.com/v1/namespaces/default/posts?${query}`,
      `GET /apis/blog.example.com/v1/namespaces/default/posts?${query}&continue=n%26xt`,
      'GET /apis/blog.example.com/v1/posts?limit=1',
      'GET /apis/blog.example.com/v1/posts?labelSelector=a&watch=true&allowWatchBookmarks=true&resourceVersion=7',
    ]);
  });
});

describe('failures', () => {
  test("the server's failure is thrown, with the request id", async () => {
    const api = await clientOf((response) =>
      answerJson(response, 404, newNotFound({ group: '', resource: 'posts' }, 'a').toStatus(), {
        'x-request-id': 'r-1',
      }),
    );
    await expect(api.get(posts, key)).rejects.toMatchObject({
      code: 404,
      reason: 'NotFound',
      message: 'posts "a" not found',
      details: { name: 'a' },
      requestId: 'r-1',
    });
  });

  test.each([
    ['a page of a proxy', 502, '<html>', { code: 502, reason: 'ServiceUnavailable' }],
    ['a redirect', 302, '', { code: 302 }],
    ['a success that is not JSON', 200, '<html>', { code: 500, reason: 'InternalError' }],
    ['a success that is not an object', 200, '[]', { code: 500 }],
    ['an object without metadata', 200, '{}', { code: 500, message: expect.stringContaining('not an object') }],
  ])('%s', async (_reason, status, body, error) => {
    const api = await clientOf((response) => response.writeHead(status, { location: '/elsewhere' }).end(body));
    await expect(api.get(posts, key)).rejects.toMatchObject({ name: 'StatusError', ...error });
    expect(sent()).toHaveLength(1);
  });

  test('a refused connection is 503, with the cause', async () => {
    const api = await clientOf((response) => response.end());
    await peer!.stop();
    await expect(api.get(posts, key)).rejects.toMatchObject({
      code: 503,
      reason: 'ServiceUnavailable',
      cause: expect.objectContaining({ code: 'ECONNREFUSED' }),
    });
    await expect(api.watch(posts, { resourceVersion: '1' })).rejects.toMatchObject({ code: 503 });
  });

  test('a connection that breaks before or within the answer is 503', async () => {
    const api = await clientOf((response, _request, count) => {
      if (count > 1) response.writeHead(200, { 'content-length': '100' }).write('{');
      setImmediate(() => response.destroy());
    });
    await expect(api.create(posts, post)).rejects.toMatchObject({ code: 503 });
    await expect(api.get(posts, key)).rejects.toMatchObject({
      code: 503,
      message: expect.stringContaining('broke off'),
    });
  });

  test.each([
    ['no answer starts', 50, (): void => undefined, 'has begun'],
    // Long enough for the headers to arrive on a slow machine.
    [
      'an answer stalls',
      5000,
      (response: ServerResponse): void => void response.writeHead(200).write('{'),
      'did not go on',
    ],
  ])('%s: 504', async (_reason, answerTimeoutMs, answer, message) => {
    const api = await clientOf(answer, { limits: { answerTimeoutMs } });
    await expect(api.get(posts, key)).rejects.toMatchObject({
      code: 504,
      reason: 'Timeout',
      message: expect.stringContaining(message),
    });
  });

  test('an answer larger than the limit is 413, and a list asks for less', async () => {
    const api = await clientOf(
      (response, { url }) => {
        const limit = Number(/limit=(\d+)/.exec(url!)?.[1] ?? 1000);
        answerJson(response, 200, {
          metadata: { resourceVersion: '7' },
          items: Array.from({ length: limit }, () => stored),
        });
      },
      { limits: { maxAnswerBytes: 10_000 } },
    );
    await expect(api.get(posts, key)).rejects.toMatchObject({ code: 413, reason: 'RequestEntityTooLarge' });
    expect((await api.list(posts)).items).toHaveLength(32);
  });
});

describe('retries', () => {
  const refusal =
    (status: number, headers: Record<string, string>): Answerer =>
    (response, _request, count) =>
      count < 3
        ? answerJson(response, status, { kind: 'Status', message: 'later' }, headers)
        : answerJson(response, 200, stored);

  test.each([
    ['429', 429, { 'retry-after': '0' }],
    ['503', 503, { 'retry-after': '0' }],
    ['a date', 503, { 'retry-after': new Date(0).toUTCString() }],
  ])('a read is retried: %s', async (_reason, status, headers) => {
    const api = await clientOf(refusal(status, headers));
    expect(await api.get(posts, key)).toEqual(stored);
    expect(sent()).toHaveLength(3);
  });

  test("a read is tried three times, then fails with the server's error", async () => {
    const api = await clientOf((response) =>
      answerJson(response, 429, { kind: 'Status', message: 'no' }, { 'retry-after': '0' }),
    );
    await expect(api.watch(posts, { resourceVersion: '1' })).rejects.toMatchObject({ code: 429, message: 'no' });
    expect(sent()).toHaveLength(4);
  });

  test.each([
    ['without Retry-After', 503, {}],
    ['with a long Retry-After', 503, { 'retry-after': '3600' }],
    ['with another code', 504, { 'retry-after': '0' }],
  ])('a read is retried after a pause %s', async (_reason, status, headers) => {
    const api = await clientOf(refusal(status, headers));
    await expect(api.get(posts, key)).rejects.toMatchObject({ code: status });
    expect(sent()).toHaveLength(1);
  });

  test('a write is never retried', async () => {
    const api = await clientOf(refusal(429, { 'retry-after': '0' }));
    await expect(api.create(posts, post)).rejects.toMatchObject({ code: 429 });
    await expect(api.delete(posts, key)).rejects.toMatchObject({ code: 429 });
    expect(sent()).toHaveLength(2);
  });

  test.each(['signal', 'close'])('a %s ends the wait', async (by) => {
    const aborter = new AbortController();
    const api = await clientOf((response) => {
      answerJson(response, 503, {}, { 'retry-after': '20' });
      response.on('finish', () => (by === 'signal' ? aborter.abort() : api.close()));
    });
    await expect(api.get(posts, key, { signal: aborter.signal })).rejects.toMatchObject({
      code: by === 'signal' ? 504 : 503,
    });
  });

  test('a read is retried on a new connection if its idle connection was closed', async () => {
    const api = await clientOf((response, request, count) => {
      // The second request uses the keep-alive connection, which is then reset.
      if (count === 2) request.socket.resetAndDestroy();
      else answerJson(response, 200, stored);
    });
    await api.get(posts, key);
    expect(await api.get(posts, key)).toEqual(stored);
    expect(sent()).toHaveLength(3);
  });
});

test('warnings are reported', async () => {
  const warnings: string[] = [];
  const header = [
    '299 - "first: \\"quoted\\" \\\\ back"',
    `299 svc "${Buffer.from('Grüße \u{1F600}').toString('latin1')}"`,
    'nonsense',
    '199 - "not ours"',
  ];
  const api = await clientOf(
    (response) => {
      response.setHeader('warning', header);
      answerJson(response, 200, stored);
    },
    { warn: (text) => warnings.push(text) },
  );
  await api.get(posts, key);
  expect(warnings).toEqual(['first: "quoted" \\ back', 'Grüße \u{1F600}']);
});

describe('streams', () => {
  const event = (type: string, resourceVersion: string): string =>
    `${JSON.stringify({ type, object: { ...stored, metadata: { ...stored.metadata, resourceVersion } } })}\n`;

  async function eventsOf(stream: EventStream<AnyObject>): Promise<string[]> {
    const told: string[] = [];
    const nameOf = (each: ClientEvent<AnyObject>): string =>
      `${each.type} ${each.type === 'BOOKMARK' ? each.resourceVersion : each.object.metadata.resourceVersion}`;
    for await (const each of stream) told.push(nameOf(each));
    return told;
  }

  test('events may be split anywhere, and heartbeats are no events', async () => {
    const text = Buffer.from(
      `\n${event('ADDED', '8')}\n\n${event('BOOKMARK', '9')}${event('DELETED', 'ü')}{"type":"ADDED"`,
    );
    const api = await clientOf((response) => {
      let at = 0;
      const next = (): void => {
        if (at >= text.length) return void response.end();
        response.write(text.subarray(at, at + 7), next);
        at += 7;
      };
      next();
    });
    expect(await eventsOf(await api.watch(posts, { resourceVersion: '7' }))).toEqual([
      'ADDED 8',
      'BOOKMARK 9',
      'DELETED ü',
    ]);
  });

  test("the server's error is thrown, after what came before", async () => {
    const error = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } };
    const api = await clientOf((response) =>
      response.writeHead(200, { 'x-request-id': 'r' }).end(`${event('ADDED', '8')}${JSON.stringify(error)}\n`),
    );
    const stream = await api.watch(posts, { resourceVersion: '7' });
    const told: string[] = [];
    const reading = (async () => {
      for await (const each of stream) told.push(each.type);
    })();
    await expect(reading).rejects.toMatchObject({ code: 410, reason: 'Expired', message: 'too old', requestId: 'r' });
    expect(told).toEqual(['ADDED']);
  });

  test.each([
    ['no JSON', 'x\n'],
    ['no event', '{}\n'],
    ['an object without metadata', '{"type":"ADDED","object":{}}\n'],
    ['an invalid type', event('SYNC', '8')],
    ['an invalid revision', '{"type":"ADDED","object":{"metadata":{"resourceVersion":8}}}\n'],
    ['an endless line', `{"type":"${'x'.repeat(200_000)}`],
  ])('an invalid event is 500: %s', async (_reason, text) => {
    const api = await clientOf((response) => void response.write(text), { limits: { maxEventBytes: 100_000 } });
    await expect(eventsOf(await api.watch(posts, { resourceVersion: '7' }))).rejects.toMatchObject({
      code: 500,
      reason: 'InternalError',
    });
  });

  test('a broken stream ends and can be resumed', async () => {
    let breakStream!: () => void;
    const api = await clientOf((response) => {
      breakStream = () => response.destroy();
      response.write(`${event('ADDED', '8')}{"type":`);
    });
    const events = (await api.watch(posts, { resourceVersion: '7' }))[Symbol.asyncIterator]();
    expect((await events.next()).done).toBe(false);
    const reading = events.next();
    breakStream();
    expect((await reading).done).toBe(true);
  });

  test('unread events stay with the server', async () => {
    let written = 0;
    const line = event('ADDED', '8').replace('"u"', `"${'u'.repeat(64 * 1024)}"`);
    let fill!: () => void;
    const full = new Promise<void>((resolve) => {
      fill = resolve;
    });
    const api = await clientOf((response) => {
      const more = (): void => {
        let fits = true;
        while (fits && written < 1_000) {
          fits = response.write(line);
          written += 1;
        }
        response.once('drain', more);
        fill();
      };
      more();
    });
    const stream = await api.watch(posts, { resourceVersion: '7' });
    await full;
    expect(written).toBeLessThan(1_000);
    let read = 0;
    for await (const each of stream) {
      expect(each.type).toBe('ADDED');
      read += 1;
      if (read === 1_000) break;
    }
    expect(written).toBe(1_000);
  });

  test('many streams leave nothing behind in client or server', async () => {
    const api = await clientOf((response) => void response.write(event('ADDED', '8')));
    const { signal } = new AbortController();
    for (let i = 0; i < 300; i += 1) {
      const aborter = new AbortController();
      const stream = await api.watch(posts, { resourceVersion: '7', signal: i % 2 === 0 ? signal : aborter.signal });
      if (i % 3 === 0) for await (const each of stream) if (each.type === 'ADDED') break;
      if (i % 4 === 1) aborter.abort();
      else stream.close();
    }
    const connections = (): Promise<number> =>
      new Promise((resolve, reject) =>
        peer!.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
      );
    await pollUntil(
      async () => (await connections()) === 0 && getEventListeners(signal, 'abort').length === 0,
      waitMs(),
      'the connections and the listeners of the signal to be gone',
    );
  });

  test('closing ends them with their connections', async () => {
    const api = await clientOf((response) => response.flushHeaders());
    const stream = await api.watch(posts, { resourceVersion: '7' });
    const reading = eventsOf(stream);
    const [socket] = await Promise.all([
      once(peer!.server, 'connection').then(([each]) => each as NodeJS.EventEmitter),
      api.watch(posts, { resourceVersion: '7' }),
    ]);
    const gone = once(socket, 'close');
    api.close();
    expect(await reading).toEqual([]);
    await gone;
  });
});
