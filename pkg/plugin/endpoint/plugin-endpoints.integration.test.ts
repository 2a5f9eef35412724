import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newInvalid, newServiceUnavailable, StatusError } from '#pkg/apimachinery/index';
import { definitionType, pluginType, type PluginEndpoint } from '#pkg/apis/index';
import { endpoint, startTestEndpoints, until, type TestAsk, type TestEndpointEnv } from './start-test-endpoints.ts';

const open = '/apis/api.blog.example.com/v1';
const closed = '/apis/console.api.blog.example.com/v1';

const endpoints: PluginEndpoint[] = [
  endpoint({ query: { type: 'object', properties: { tag: { type: 'string' } } } }),
  endpoint({ path: '/posts/{name}/likes', method: 'POST', operationId: 'like', body: { type: 'object' } }),
  endpoint({ path: '/posts/{name}/likes', method: 'DELETE', operationId: 'unlike' }),
  endpoint({
    path: '/drills',
    method: 'POST',
    operationId: 'drill',
    query: { type: 'object', properties: { dryRun: { type: 'string' } } },
  }),
  endpoint({
    audience: 'console',
    path: '/posts/{name}/publication',
    method: 'PUT',
    operationId: 'publish',
    body: { type: 'object' },
  }),
  endpoint({ audience: 'uc', path: '/me', operationId: 'me' }),
];

let test1: TestEndpointEnv;
beforeAll(async () => {
  test1 = await startTestEndpoints({ replicas: 2 });
  setHandlers();
  await started();
  for (const server of [0, 1]) await until(async () => (await ask(`${open}/posts`, { server })).status === 200);
});
afterAll(() => test1.stop());

async function started(): Promise<void> {
  await test1.set('blog', { phase: 'Started', endpoints, host: { url: test1.hostUrl } });
}

const ok = { status: 200, headers: {}, body: '[]' };
function setHandlers(): void {
  for (const { operationId } of endpoints) test1.host.handlers.set(`blog.${operationId}`, () => Promise.resolve(ok));
}
beforeEach(() => {
  test1.host.calls = [];
  setHandlers();
});

const ask: TestEndpointEnv['ask'] = (path, init) => test1.ask(path, init);
const asked: TestEndpointEnv['asked'] = (path, init) => test1.asked(path, init);

describe('a call', () => {
  test.each([0, 1])('reaches the host unchanged from server %d', async (server) => {
    const body = '{ "a": "\\u0000ü" }';
    const answer = await asked(`${open}/posts/h%C3%A9%20llo/likes?tag=a&tag=b%20c`, {
      server,
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', 'x-request-id': `r-${server}` },
      body,
    });
    expect(answer).toMatchObject({ status: 200, body: [] });
    expect(answer.headers.get('x-request-id')).toBe(`r-${server}`);
    expect(test1.host.calls).toEqual([
      {
        plugin: 'blog',
        operationId: 'like',
        endpoint: 'POST /apis/api.blog.example.com/v1/posts/{name}/likes',
        params: { name: 'hé llo' },
        query: 'tag=a&tag=b%20c',
        contentType: 'application/json; charset=utf-8',
        body: Buffer.from(body),
        user: { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'] },
        requestId: `r-${server}`,
      },
    ]);
  });

  test('has the user', async () => {
    await asked(`${closed}/posts/a/publication`, { method: 'PUT', asAdmin: true, body: { now: true } });
    expect(test1.host.calls).toMatchObject([
      {
        operationId: 'publish',
        user: { name: 'admin', groups: ['system:masters', 'system:authenticated'] },
        query: '',
        body: Buffer.from('{"now":true}'),
      },
    ]);
  });

  test('has no body if the endpoint takes none', async () => {
    await asked(`${open}/posts/a/likes`, { method: 'DELETE', body: { x: 1 } });
    await asked(`${open}/posts/a/likes`, { method: 'POST' });
    expect(test1.host.calls.map((call) => 'body' in call)).toEqual([false, false]);
  });

  test('has bytes of any kind', async () => {
    const bytes = Buffer.from([0, 10, 255, 254, 13, 10, 0]);
    const answer = await fetch(`${test1.env.url}${open}/posts/a/likes`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: bytes,
    });
    expect(answer.status).toBe(200);
    expect(test1.host.calls[0]!.body).toEqual(bytes);
  });
});

describe('a response', () => {
  async function answered(
    result: { status?: number; headers?: Record<string, string>; body?: string },
    init: TestAsk = {},
  ): Promise<Response> {
    test1.host.handlers.set('blog.listPosts', () => Promise.resolve({ status: 200, headers: {}, ...result }));
    return ask(`${open}/posts`, init);
  }

  test('has status, headers and body of the handler', async () => {
    const answer = await answered({
      status: 201,
      headers: {
        Location: '/x',
        ETag: '"7"',
        'Cache-Control': 'max-age=60',
        'Content-Type': 'text/plain; charset=utf-8',
      },
      body: 'ü\n"',
    });
    expect([answer.status, await answer.text()]).toEqual([201, 'ü\n"']);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      location: '/x',
      etag: '"7"',
      'cache-control': 'max-age=60',
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
    });
  });

  test('is JSON unless the handler says otherwise, and is not cached', async () => {
    const { headers } = await answered({ body: '{}' });
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-cache, private',
    });
  });

  test.each([[204], [202], [304]])('may be empty: %d', async (status) => {
    const answer = await answered({ status });
    expect([answer.status, await answer.text(), answer.headers.get('content-type')]).toEqual([status, '', null]);
  });

  test('has no header that a handler must not set', async () => {
    const { headers } = await answered({
      headers: {
        'Set-Cookie': 'a=b',
        Connection: 'close',
        'Content-Length': '1',
        'X-Request-Id': 'x',
        'Access-Control-Allow-Origin': '*',
        'x-a': 'line\r\nfeed',
        'x b': 'c',
        __proto__: 'x',
        'x-good': 'yes',
      },
      body: '[]',
    });
    const names = [...headers.keys()];
    expect(names).toContain('x-good');
    for (const name of ['set-cookie', 'access-control-allow-origin', 'x-a', 'x b']) expect(names).not.toContain(name);
    expect(headers.get('content-length')).toBe('2');
    expect(headers.get('x-request-id')).not.toBe('x');
  });

  test('has a challenge with every 401', async () => {
    expect((await answered({ status: 401, body: '{}' })).headers.get('www-authenticate')).toBe('Bearer realm="svc"');
  });

  test.each([[99], [101], [600], [200.5], [Number.NaN]])('cannot have the status %d', async (status) => {
    expect((await answered({ status, body: '{}' })).status).toBe(500);
  });

  test('cannot be too large', async () => {
    for (const size of [8, 9]) expect((await answered({ body: `"${'x'.repeat(size << 20)}"` })).status).toBe(500);
    expect(await (await answered({ body: `"${'x'.repeat(7 << 20)}"` })).text()).toHaveLength((7 << 20) + 2);
  });

  test('to HEAD is that of GET without its body', async () => {
    const answer = await answered({ body: '[1,2]' }, { method: 'HEAD' });
    expect([answer.status, await answer.text(), answer.headers.get('content-length')]).toEqual([200, '', '5']);
    expect(test1.host.calls).toMatchObject([{ operationId: 'listPosts' }]);
  });
});

describe('a failure', () => {
  function failing(error: Error): void {
    test1.host.handlers.set('blog.listPosts', async () => {
      throw error;
    });
  }

  test('of the handler keeps its status, in either form', async () => {
    failing(
      newInvalid({ group: 'blog.example.com', kind: 'Like' }, 'a', [
        { reason: 'FieldValueInvalid', message: 'too loud', field: 'volume' },
      ]),
    );
    expect(await asked(`${open}/posts`)).toMatchObject({
      status: 422,
      body: { kind: 'Status', reason: 'Invalid', details: { causes: [{ field: 'volume', message: 'too loud' }] } },
    });
    const problem = await ask(`${open}/posts`, { headers: { accept: 'application/problem+json' } });
    expect(problem.headers.get('content-type')).toBe('application/problem+json');
    expect(await problem.json()).toMatchObject({ status: 422, code: 'Invalid', errors: [{ field: 'volume' }] });
  });

  test.each<[string, Error, number, string | null]>([
    ['an exception', new Error('secret'), 500, null],
    ['a 500', new StatusError(500, 'InternalError', 'secret'), 500, null],
    ['a 502', new StatusError(502, 'ServiceUnavailable', 'secret'), 500, null],
    ['a 503 of another service', newServiceUnavailable('connect ECONNREFUSED secret', 7), 503, '7'],
    ['a 504', new StatusError(504, 'Timeout', 'secret'), 504, '1'],
  ])('behind the handler does not show its cause: %s', async (_reason, error, status, retryAfter) => {
    failing(error);
    const answer = await ask(`${open}/posts`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, retryAfter]);
    expect(await answer.text()).not.toContain('secret');
  });

  test('is 413 for a body beyond the limit, without a call of the host', async () => {
    expect((await ask(`${open}/posts/a/likes`, { method: 'POST', body: 'x'.repeat(100_001) })).status).toBe(413);
    expect(test1.host.calls).toEqual([]);
  });
});

describe('a parameter that the endpoint cannot honour is refused', () => {
  test.each([
    ['an Idempotency-Key', { 'idempotency-key': 'a' }, '', 400],
    ['If-Match', { 'if-match': '"1"' }, '', 400],
    ['If-None-Match', { 'if-none-match': '*' }, '', 400],
    ['a fence', { 'x-svc-fence': 'default/a@1' }, '', 400],
    ['a dry run', {}, '?dryRun=All', 400],
    ['a dry run among others', {}, '?dryRun=&dryRun=All', 400],
    ['an empty dryRun', {}, '?dryRun=', 200],
  ])('%s', async (_reason, headers, query, status) => {
    const answer = await asked(`${open}/posts/a/likes${query}`, { method: 'DELETE', headers: { ...headers } });
    expect(answer.status).toBe(status);
    expect(test1.host.calls).toHaveLength(status === 200 ? 1 : 0);
  });

  test('except in a GET, which changes nothing, and except a declared parameter', async () => {
    expect(
      (await ask(`${open}/posts?dryRun=All`, { headers: { 'idempotency-key': 'a', 'if-none-match': '"1"' } })).status,
    ).toBe(200);
    expect((await ask(`${open}/drills?dryRun=All`, { method: 'POST' })).status).toBe(200);
  });

  test('a watch, which would have no timeout', async () => {
    expect(await asked(`${open}/posts?watch=true`)).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
    expect(test1.host.calls).toEqual([]);
  });
});

describe('paths', () => {
  test.each([
    ['an endpoint that needs a credential', `${closed}/posts/a/publication`, 'PUT', 401, 200],
    ['one of the user center', '/apis/uc.api.blog.example.com/v1/me', 'GET', 401, 200],
    ['a public endpoint', `${open}/posts`, 'GET', 200, 200],
    ['another method of an open path', `${open}/posts`, 'POST', 405, 405],
    ['OPTIONS that is not a preflight', `${open}/posts`, 'OPTIONS', 405, 405],
    ['another method of a closed path', `${closed}/posts/a/publication`, 'GET', 401, 405],
    ['beside an open path', `${open}/other`, 'GET', 401, 404],
    ['below one', `${open}/posts/a`, 'GET', 401, 404],
    ['far below one', `${open}/posts/a/likes/b/c/d/e`, 'GET', 401, 404],
    ['an open path with a slash', `${open}/posts/`, 'GET', 401, 404],
    ['in another case', `${open}/Posts`, 'GET', 401, 404],
    ['the open group itself', open, 'GET', 401, 404],
    ['without its version', '/apis/api.blog.example.com', 'GET', 401, 404],
    ['another version', '/apis/api.blog.example.com/v2/posts', 'GET', 401, 404],
    ['a group with a longer name', '/apis/api.blog.example.com.evil/v1/posts', 'GET', 401, 404],
    ['an encoded slash', `${open}/posts%2Fa/likes`, 'DELETE', 400, 400],
    ['an encoded way up', `${open}/x/%2e%2e/posts`, 'GET', 400, 400],
    ['an encoded literal, which is the same path', `${open}/%70osts`, 'GET', 200, 200],
    ['a parameter that looks like a path', `${open}/posts/..%5c..%5capis/likes`, 'DELETE', 400, 400],
  ])('%s', async (_reason, path, method, withoutCredential, withCredential) => {
    expect([
      await raw(path, method, {}),
      await raw(path, method, { authorization: `Bearer ${test1.env.token}` }),
    ]).toEqual([withoutCredential, withCredential]);
  });

  test('a wrong credential is 401 at a public path too', async () => {
    expect((await ask(`${open}/posts`, { headers: { authorization: 'Bearer pat_wrong' } })).status).toBe(401);
  });

  test('405 lists the allowed methods', async () => {
    expect((await ask(`${open}/posts`, { method: 'PUT' })).headers.get('allow')).toBe('GET, HEAD');
    expect((await ask(`${open}/posts/a/likes`, { method: 'PUT' })).headers.get('allow')).toBe('POST, DELETE');
  });

  test('a model is made public neither by the name of its group nor by an endpoint next to it', async () => {
    await define('api.blog.example.com', 'Note');
    await until(async () => (await ask(`${open}/notes`, { asAdmin: true })).status === 200);
    const note = { apiVersion: 'api.blog.example.com/v1', kind: 'Note', metadata: { name: 'a' } };
    expect((await ask(`${open}/notes`, { method: 'POST', asAdmin: true, body: note })).status).toBe(201);
    for (const path of ['/notes', '/notes/a', '/notes/a/status', '/notes?watch=true'])
      expect((await ask(`${open}${path}`)).status).toBe(401);
    expect((await ask(`${open}/posts`)).status).toBe(200);
  });
});

describe('the path of a model', () => {
  const shadow = '/apis/api.shadow.example.com/v1';
  const about = { group: 'shadow.example.com' };
  const shadows = [
    endpoint({ ...about, path: '/{any}', operationId: 'one' }),
    endpoint({ ...about, path: '/things/{name}', operationId: 'two' }),
    endpoint({ ...about, path: '/namespaces/{namespace}/{any}', operationId: 'three' }),
    endpoint({ ...about, audience: 'console', path: '/things', method: 'POST', operationId: 'four', body: {} }),
  ];
  const [free, taken] = [
    ['/others', '/namespaces/default/others'],
    ['/things', '/things/a', '/namespaces/default/things'],
  ];

  async function statuses(paths: readonly string[], request: TestAsk = {}): Promise<number[]> {
    return Promise.all(paths.map(async (path) => (await ask(`${shadow}${path}`, request)).status));
  }

  async function mount(phase: 'Started' | 'Disabled'): Promise<void> {
    for (const { operationId } of shadows) test1.host.handlers.set(`shadow.${operationId}`, () => Promise.resolve(ok));
    await test1.set('shadow', { phase, endpoints: shadows, host: { url: test1.hostUrl } });
    for (const server of [0, 1])
      await until(async () =>
        (await statuses(free, { server })).every((status) => status === (phase === 'Started' ? 200 : 401)),
      );
  }

  async function documented(): Promise<string[]> {
    const { body } = await asked('/docs/openapi/aggregated.json', { asAdmin: true });
    const operations = Object.values((body as { paths: Record<string, { get?: { operationId: string } }> }).paths);
    return operations.flatMap(({ get }) => (get?.operationId.startsWith('shadow.') === true ? [get.operationId] : []));
  }

  test.each(['before it', 'after it'])('belongs to the model, whether an endpoint was mounted %s', async (order) => {
    if (order === 'before it') {
      await mount('Started');
      expect(await statuses([...free, ...taken])).toEqual([200, 200, 200, 200, 200]);
      expect(await documented()).toEqual(['shadow.one', 'shadow.two', 'shadow.three']);
    }
    await define('api.shadow.example.com', 'Thing', 'Namespaced');
    await until(
      async () => (await statuses(['/namespaces/default/things'], { asAdmin: true, method: 'HEAD' }))[0] === 200,
    );
    if (order === 'after it') await mount('Started');
    for (const server of [0, 1])
      await until(async () => (await statuses(taken, { server })).every((status) => status === 401));
    test1.host.calls = [];
    expect(await statuses(taken, { asAdmin: true })).toEqual([200, 404, 200]);
    const thing = { apiVersion: 'api.shadow.example.com/v1', kind: 'Thing', metadata: { name: 'a' } };
    expect(await statuses(['/namespaces/default/things'], { method: 'POST', body: thing })).toEqual([401]);
    expect(await statuses(['/namespaces/default/things'], { method: 'POST', body: thing, asAdmin: true })).toEqual([
      201,
    ]);
    expect(test1.host.calls).toEqual([]);
    expect(await documented()).toEqual(['shadow.one', 'shadow.three']);
    expect(await statuses(free)).toEqual([200, 200]);
    // Another group, although the plugin's endpoints of this group are below it.
    expect(
      (await ask('/apis/console.api.shadow.example.com/v1/things', { method: 'POST', asAdmin: true, body: {} })).status,
    ).toBe(200);

    await test1.client.delete(definitionType, { namespace: '', name: 'things.api.shadow.example.com' });
    await until(async () => (await statuses(taken)).every((status) => status === 200));
    expect(await documented()).toEqual(['shadow.one', 'shadow.two', 'shadow.three']);
    await mount('Disabled');
  });
});

describe('an unavailable plugin', () => {
  test.each(['Starting', 'Failed'] as const)('that is %s gets 503', async (phase) => {
    await test1.set('blog', { phase, endpoints, host: { url: test1.hostUrl } });
    await until(async () => (await ask(`${open}/posts`)).status === 503);
    const answer = await asked(`${open}/posts`);
    expect(answer).toMatchObject({ status: 503, body: { reason: 'ServiceUnavailable' } });
    expect(answer.headers.get('retry-after')).toBe('2');
    await started();
    await until(async () => (await ask(`${open}/posts`)).status === 200);
  });

  test('without a host gets 503 too', async () => {
    await test1.set('blog', { phase: 'Started', endpoints });
    await until(async () => (await ask(`${open}/posts`)).status === 503);
    await started();
    await until(async () => (await ask(`${open}/posts`)).status === 200);
  });

  test('that is disabled has no paths', async () => {
    await test1.set('blog', { phase: 'Disabled', endpoints });
    await until(async () => (await ask(`${open}/posts`)).status === 401);
    expect((await ask(`${open}/posts`, { asAdmin: true })).status).toBe(404);
    await started();
    await until(async () => (await ask(`${open}/posts`)).status === 200);
  });

  test('that is deleted has none either; of two that claim a path the first by name has it', async () => {
    test1.host.handlers.set('another.listPosts', () => Promise.resolve({ ...ok, body: '["another"]' }));
    await test1.set('another', {
      phase: 'Started',
      endpoints: [endpoint({}), endpoint({ path: '/others', operationId: 'listOthers' }), endpoint({ path: '//' })],
      host: { url: test1.hostUrl },
    });
    await until(async () => (await (await ask(`${open}/posts`)).text()) === '["another"]');
    expect((await ask(`${open}/others`)).status).toBe(503);
    await test1.client.delete(pluginType, { namespace: '', name: 'another' });
    await until(async () => (await (await ask(`${open}/posts`)).text()) === '[]');
    expect((await ask(`${open}/others`)).status).toBe(401);
  });
});

test('a plugin in the same process is called without another process', async () => {
  const local = await startTestEndpoints({ replicas: 2, isLocal: true });
  try {
    for (const { operationId } of endpoints) local.host.handlers.set(`blog.${operationId}`, () => Promise.resolve(ok));
    await local.set('blog', { phase: 'Started', endpoints, host: { url: 'http://127.0.0.1:9' } });
    await until(async () => (await local.ask(`${open}/posts`)).status === 200);
    await until(async () => (await local.ask(`${open}/posts`, { server: 1 })).status === 503);
    local.host.handlers.set('blog.listPosts', () => Promise.reject(newServiceUnavailable('secret')));
    const failed = await local.ask(`${open}/posts`);
    expect(failed.status).toBe(503);
    expect(await failed.text()).not.toContain('secret');
    local.host.handlers.set('blog.listPosts', () =>
      Promise.resolve({ status: 200, headers: {}, body: 'x'.repeat(9 << 20) }),
    );
    expect((await local.ask(`${open}/posts`)).status).toBe(500);
  } finally {
    await local.stop();
  }
});

test('a client that disconnects aborts the handler', async () => {
  let begin!: () => void;
  const began = new Promise<void>((resolve) => (begin = resolve));
  const ended = new Promise<void>((resolve) => {
    test1.host.handlers.set('blog.listPosts', (_call, signal) => {
      begin();
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          resolve();
          reject(new Error('gone'));
        });
      });
    });
  });
  const leaving = new AbortController();
  const asking = ask(`${open}/posts`, { signal: leaving.signal }).catch(() => 'left');
  await began;
  leaving.abort();
  await ended;
  expect(await asking).toBe('left');
});

async function define(group: string, kind: string, scope: 'Cluster' | 'Namespaced' = 'Cluster'): Promise<void> {
  const plural = `${kind.toLowerCase()}s`;
  await test1.client.create(definitionType, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, kind },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  });
}

/** Sends a path that no client has normalized. */
function raw(path: string, method: string, headers: Record<string, string>): Promise<number> {
  const { hostname, port } = new URL(test1.env.url);
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, path, method, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', reject);
    request.end();
  });
}
