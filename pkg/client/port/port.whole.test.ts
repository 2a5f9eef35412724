import { getEventListeners, once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isStatusError, type Client } from '#pkg/apimachinery/index';
import { definePosts, newPost, postType, startTestEnv, type TestEnv } from '../../testenv/index.ts';
import { PortClient } from './port-client.ts';
import { PortEventStream } from './port-event-stream.ts';
import { servePort, type PortService, type ServePortOptions } from './serve-port.ts';

let env: TestEnv;
let inner: Client;
beforeAll(async () => {
  env = await startTestEnv();
  inner = env.servers[0]!.client;
  await definePosts(env);
  await inner.create(postType, newPost('there'));
});
afterAll(() => env.stop());

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});

function serve(options: Partial<ServePortOptions> = {}): {
  service: PortService;
  port: MessagePort;
  hostPort: MessagePort;
} {
  const { port1, port2 } = new MessageChannel();
  const service = servePort({ port: port1, client: inner, ...options });
  opened.push(service);
  return { service, port: port2, hostPort: port1 };
}

function connect(options: Partial<ServePortOptions> = {}): {
  client: PortClient;
  service: PortService;
  port: MessagePort;
  hostPort: MessagePort;
} {
  const served = serve(options);
  const client = new PortClient({ port: served.port });
  opened.push(client);
  return { client, ...served };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate();
}

/** The responses to arbitrary messages, once a valid call that is sent last is answered. */
async function answersTo(
  port: MessagePort,
  messages: readonly unknown[],
): Promise<{ id: number; result?: unknown; error?: { status: { code: number } } }[]> {
  const last = 999_999;
  const answers: { id: number }[] = [];
  const done = new Promise<void>((resolve) => {
    port.on('message', (text: string) => {
      const answer = JSON.parse(text) as { id: number };
      answers.push(answer);
      if (answer.id === last) resolve();
    });
  });
  const post = (message: unknown): void => port.postMessage(message, []);
  for (const message of messages) post(message);
  post(JSON.stringify({ id: last, call: { verb: 'get', type: postType, key: { namespace: '', name: 'there' } } }));
  await done;
  return answers.filter(({ id }) => id !== last);
}

const type = { group: 'test.example.com', version: 'v1', kind: 'Post', plural: 'posts' };
const key = { name: 'there' };

describe('invalid messages', () => {
  test.each([
    ['no text', 7],
    ['nothing', null],
    ['an object', { id: 1, call: {} }],
    ['bytes', new Uint8Array([1, 2, 3])],
    ['no JSON', '{'],
    ['no object', '[1]'],
    ['no number', '{"call":{}}'],
    ['an invalid number', '{"id":"1","call":{}}'],
    ['a number below one', '{"id":0,"call":{}}'],
    ['a number too large', '{"id":1e300,"call":{}}'],
    ['credit for an unknown stream', '{"id":5,"grant":1}'],
    ['the end of an unknown stream', '{"id":5,"abort":true}'],
    ['neither', '{"id":5}'],
    ['a prototype', '{"__proto__":{"id":1,"call":{}}}'],
    ['depth', `{"id":1,"x":${'['.repeat(100_000)}`],
  ])('are not answered: %s', async (_reason, message) => {
    const { port, service } = serve();
    expect(await answersTo(port, [message])).toEqual([]);
    expect(service.size).toBe(0);
  });

  test.each([
    ['nothing', null],
    ['no verb', { type, key }],
    ['an unknown verb', { verb: 'watchEverything', type, key }],
    ['a verb named like an inherited property', { verb: 'constructor', type, key }],
    ['no type', { verb: 'get', key }],
    ['a type without a plural', { verb: 'get', type: { group: 'a', version: 'b', kind: 'c' }, key }],
    ['a type with numbers', { verb: 'get', type: { ...type, group: 1 }, key }],
    ['an invalid key', { verb: 'get', type, key: 'there' }],
    ['an invalid name', { verb: 'get', type, key: { name: {} } }],
    ['no name', { verb: 'delete', type }],
    ['no object', { verb: 'create', type }],
    ['an invalid object', { verb: 'create', type, object: [] }],
    ['an object without metadata', { verb: 'update', type, object: {} }],
    ['invalid metadata', { verb: 'update', type, object: { metadata: { name: 5 } } }],
    ['an invalid namespace', { verb: 'create', type, object: { metadata: { namespace: {} } } }],
    ['no patch', { verb: 'patch', type, key }],
    ['a patch of an unknown type', { verb: 'patch', type, key, patch: { type: 'apply', patch: {} } }],
    ['invalid options', { verb: 'list', type, options: [] }],
    ['an invalid limit', { verb: 'list', type, options: { limit: '5' } }],
    ['an invalid sort', { verb: 'list', type, options: { sort: [1] } }],
    ['an invalid policy', { verb: 'delete', type, key, options: { propagationPolicy: 'All' } }],
    ['an invalid fence', { verb: 'delete', type, key, options: { fence: { lease: 'a' } } }],
    ['a watch from an invalid revision', { verb: 'watch', type }],
    ['an invalid grant', { verb: 'watch', type, options: { resourceVersion: '1' }, grant: -1 }],
  ])('are answered 400: %s', async (_reason, call) => {
    const { port, service } = serve();
    expect(await answersTo(port, [JSON.stringify({ id: 5, call })])).toMatchObject([
      { id: 5, error: { status: { code: 400, reason: 'BadRequest' } } },
    ]);
    expect(service.size).toBe(0);
  });

  test('truncated text is answered if it names its call', async () => {
    const { port } = serve();
    expect(await answersTo(port, ['{"id":5,"call":{'])).toMatchObject([{ id: 5, error: { status: { code: 400 } } }]);
  });

  test('of any shape are handled', async () => {
    const failures: unknown[] = [];
    const { port, service } = serve({ onError: (error) => failures.push(error) });
    const field = (good: unknown): fc.Arbitrary<unknown> =>
      fc.oneof({ weight: 3, arbitrary: fc.constant(good) }, fc.jsonValue());
    const call = fc.record(
      {
        verb: fc.oneof(
          fc.constantFrom(
            'get',
            'list',
            'update',
            'patch',
            'updateStatus',
            'patchStatus',
            'apply',
            'applyStatus',
            'watch',
          ),
          fc.jsonValue(),
        ),
        type: field(type),
        key: field(key),
        object: field(newPost('absent')),
        configuration: field(newPost('absent')),
        patch: field({ type: 'merge', patch: {} }),
        options: fc.oneof(
          fc.dictionary(
            fc.constantFrom(
              'limit',
              'continue',
              'sort',
              'labelSelector',
              'resourceVersion',
              'fence',
              'namespace',
              'dryRun',
            ),
            fc.jsonValue(),
          ),
          fc.jsonValue(),
        ),
      },
      { requiredKeys: [] },
    );
    const calls = fc.sample(call, { numRuns: 400, seed: 7 });
    const messages = calls.flatMap((each, i) => [
      JSON.stringify({ id: i + 1, call: each }),
      JSON.stringify({ id: i + 1, abort: false }),
      JSON.stringify({ id: i + 1, grant: 'x' }),
    ]);
    const answers = await answersTo(port, messages);
    expect(failures).toEqual([]);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(answers.length);
    service.close();
    await until(() => service.size === 0);
  });

  test('of the server are validated too', async () => {
    const { port1, port2 } = new MessageChannel();
    const client = new PortClient({ port: port2 });
    opened.push(client);
    const reading = client.get(postType, { namespace: '', name: 'a' });
    const say = (message: unknown): void => port1.postMessage(message, []);
    for (const message of [
      5,
      '{',
      '[]',
      '{"id":"1"}',
      '{"id":77,"result":1}',
      '{"id":77,"event":{}}',
      '{"id":1}',
      '{"id":1,"event":{}}',
      '{"id":1,"error":{"status":{"kind":"Status","code":404,"reason":"NotFound","message":"m"}}}',
    ])
      say(message);
    await expect(reading).rejects.toMatchObject({ code: 404, reason: 'NotFound', message: 'm' });
    port1.close();
  });
});

describe('limits', () => {
  test('limit the number of calls in progress', async () => {
    const { client, service } = connect({ maxCalls: 3 });
    const { resourceVersion } = await client.list(postType);
    const streams = await Promise.all([1, 2, 3].map(() => client.watch(postType, { resourceVersion })));
    await expect(client.get(postType, { namespace: '', name: 'there' })).rejects.toMatchObject({
      code: 429,
      reason: 'TooManyRequests',
    });
    streams[0]!.close();
    await until(() => service.size === 2);
    await client.get(postType, { namespace: '', name: 'there' });
  });

  test('stop making answers that nobody reads', async () => {
    const object = newPost('there', 'x'.repeat(1_000_000));
    let made = 0;
    let atOnce = 0;
    let most = 0;
    const list = async (): Promise<unknown> => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await setImmediate();
      atOnce -= 1;
      made += 1;
      return { items: [object], resourceVersion: '1' };
    };
    const { port, service } = serve({ client: { ...inner, list } as unknown as Client, maxUnreadLength: 5 << 20 });
    for (let i = 1; i <= 100; i += 1)
      port.postMessage(JSON.stringify({ id: i, call: { verb: 'list', type, options: {} } }), []);
    await until(() => service.size === 95 && atOnce === 0);
    for (let i = 0; i < 50; i += 1) await setImmediate();
    expect([most, made]).toEqual([4, 9]);
    const client = new PortClient({ port });
    opened.push(client);
    await until(() => service.size === 0);
    expect([most, made]).toEqual([4, 100]);
    await client.list(postType);
  });

  test('skip calls that are aborted before their turn', async () => {
    let made = 0;
    let free = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      free = resolve;
    });
    const get = async (): Promise<unknown> => {
      made += 1;
      await held;
      return newPost('there');
    };
    const { client, service } = connect({ client: { ...inner, get } as unknown as Client, maxRunning: 1 });
    const first = client.get(postType, { namespace: '', name: 'there' });
    const aborter = new AbortController();
    const second = client.get(postType, { namespace: '', name: 'there' }, { signal: aborter.signal });
    await until(() => service.size === 2);
    aborter.abort();
    await expect(second).rejects.toMatchObject({ code: 504 });
    await until(() => service.size === 1);
    free();
    await first;
    expect(made).toBe(1);
  });

  test('hold unanswered calls at the caller', async () => {
    const { port1, port2 } = new MessageChannel();
    const client = new PortClient({ port: port2 });
    opened.push(client);
    let sent = 0;
    port1.on('message', () => (sent += 1));
    const creating = Array.from({ length: 10 }, (_, i) =>
      client.create(postType, newPost(`p${i}`, 'x'.repeat(3 << 20))).catch((error: unknown) => error),
    );
    await until(() => sent === 5);
    for (let i = 0; i < 50; i += 1) await setImmediate();
    expect(sent).toBe(5);
    port1.postMessage(JSON.stringify({ id: 1, result: {} }), []);
    await until(() => sent === 6);
    port1.close();
    await Promise.all(creating);
  });

  test('limit the size of incoming messages', async () => {
    const { client } = connect({ maxMessageLength: 10_000 });
    await expect(client.create(postType, newPost('large', 'x'.repeat(10_000)))).rejects.toMatchObject({
      code: 413,
      reason: 'RequestEntityTooLarge',
    });
    await client.get(postType, { namespace: '', name: 'there' });
  });

  test('limit the size of outgoing messages: a list asks for smaller chunks', async () => {
    const labels = { size: 'large' };
    for (let i = 0; i < 10; i += 1) await inner.create(postType, newPost(`large-${i}`, 'x'.repeat(3_000), { labels }));
    const { client } = connect({ maxAnswerLength: 10_000 });
    expect((await client.list(postType, { labelSelector: 'size=large' })).items).toHaveLength(10);
    await inner.create(postType, newPost('larger', 'x'.repeat(20_000)));
    await expect(client.get(postType, { namespace: '', name: 'larger' })).rejects.toMatchObject({ code: 413 });
  });

  test('limit the time of an answer', async () => {
    const { port1, port2 } = new MessageChannel();
    const client = new PortClient({ port: port2, answerTimeoutMs: 20 });
    opened.push(client);
    await expect(client.get(postType, { namespace: '', name: 'there' })).rejects.toMatchObject({ code: 504 });
    await expect(client.watch(postType, { resourceVersion: '1' })).rejects.toMatchObject({ code: 504 });
    port1.close();
  });

  test('send no events without credit', async () => {
    const { service, port } = serve();
    const { resourceVersion } = await inner.list(postType);
    const events: string[] = [];
    port.on('message', (text: string) => events.push(...(text.includes('"event"') ? [text] : [])));
    const post = (message: object): void => port.postMessage(JSON.stringify(message), []);
    post({ id: 1, call: { verb: 'watch', type, options: { resourceVersion }, grant: 3 } });
    for (let i = 0; i < 20; i += 1)
      await inner.patch(
        postType,
        { namespace: '', name: 'there' },
        { type: 'merge', patch: { spec: { title: `t${i}` } } },
      );
    await until(() => events.length === 3);
    post({ id: 1, grant: 2 });
    await until(() => events.length === 5);
    // Other messages would arrive before the response to this one.
    await answersTo(port, []);
    expect(events).toHaveLength(5);
    service.close();
  });
});

describe('the end', () => {
  test.each(['this', 'the other'])('closed on %s side, calls and streams end on both', async (side) => {
    const { client, service, port, hostPort } = connect();
    const { resourceVersion } = await client.list(postType);
    const stream = await client.watch(postType, { resourceVersion });
    const ended = (async () => {
      for await (const event of stream) expect(event).toBeUndefined();
    })();
    const calls = Array.from({ length: 10 }, () => client.list(postType));
    if (side === 'this') client.close();
    else service.close();
    for (const outcome of await Promise.allSettled(calls))
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({ code: 503, reason: 'ServiceUnavailable' });
    await ended;
    await service.closed;
    await until(() => service.size === 0);
    await expect(client.list(postType)).rejects.toMatchObject({ code: 503 });
    await expect(client.watch(postType, { resourceVersion })).rejects.toMatchObject({ code: 503 });
    for (const each of [port, hostPort]) expect(each.listenerCount('message')).toBe(0);
  });

  test('nothing is left after 1 000 calls and watches, however they ended', async () => {
    const { client, service, port, hostPort } = connect();
    const { resourceVersion } = await client.list(postType);
    const longLived = new AbortController();
    const { signal } = longLived;
    const counts = (): number[] => [
      ...[port, hostPort].flatMap((each) => [each.listenerCount('message'), each.listenerCount('close')]),
      getEventListeners(signal, 'abort').length,
    ];
    const before = counts();
    await inner.patch(
      postType,
      { namespace: '', name: 'there' },
      { type: 'merge', patch: { spec: { title: 'watched' } } },
    );
    const one = async (i: number): Promise<void> => {
      const aborter = new AbortController();
      const opening = client.watch(postType, { resourceVersion, signal: i % 2 === 0 ? signal : aborter.signal });
      if (i % 5 === 1) aborter.abort();
      const stream = await opening;
      if (i % 5 === 3) aborter.abort();
      else if (i % 5 === 4) for await (const event of stream) if (event.type !== 'BOOKMARK') break;
      stream.close();
      await client
        .get(postType, { namespace: '', name: i % 3 === 0 ? 'absent' : 'there' }, { signal })
        .catch((error: unknown) => expect(isStatusError(error, 'NotFound')).toBe(true));
    };
    for (let i = 0; i < 1000; i += 50) await Promise.all(Array.from({ length: 50 }, (_, k) => one(i + k)));
    await until(() => service.size === 0);
    expect(counts()).toEqual(before);
    expect(Number(queryObjects(PortEventStream))).toBeLessThan(10);
  });

  test('nothing is left after 1 000 ports', async () => {
    const signal = new AbortController().signal;
    const { resourceVersion } = await inner.list(postType);
    const one = async (i: number): Promise<void> => {
      const { port1, port2 } = new MessageChannel();
      const service = servePort({ port: port1, client: inner });
      const client = new PortClient({ port: port2 });
      await client.watch(postType, { resourceVersion, signal });
      if (i % 2 === 0) client.close();
      else service.close();
      await service.closed;
    };
    for (let i = 0; i < 1000; i += 50) await Promise.all(Array.from({ length: 50 }, (_, k) => one(i + k)));
    // The last one is aborted later.
    await until(() => getEventListeners(signal, 'abort').length === 0);
    await until(() => Number(queryObjects(PortClient)) < 10);
  });
});

test('a worker calls the API, and its end ends its calls and streams', async () => {
  const worker = new Worker(
    `import('tsx/esm/api').then(({ register }) => { register(); return import(${JSON.stringify(new URL('start-test-worker.ts', import.meta.url).href)}); });`,
    { eval: true, execArgv: ['--conditions=source'], env: {} },
  );
  const { port1, port2 } = new MessageChannel();
  const service = servePort({ port: port1, client: inner });
  opened.push(service);
  const said = once(worker, 'message');
  worker.postMessage(port2, [port2]);
  expect((await said)[0]).toEqual({
    created: 'from-worker',
    events: ['ADDED from-worker', 'MODIFIED from-worker'],
    failure: 'AlreadyExists',
  });
  expect(service.size).toBe(1);
  await worker.terminate();
  await service.closed;
  await until(() => service.size === 0);
});
