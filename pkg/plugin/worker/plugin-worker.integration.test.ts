import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError } from '#pkg/apimachinery/index';
import { definePosts, newPost, postType, startTestEnv, type TestEnv } from '../../testenv/index.ts';
import type { EndpointCall, EndpointResult } from '../endpoint/endpoint-call.ts';
import type { PluginWorker } from './plugin-worker.ts';
import { TestPlugins, type LogLine } from './start-test-plugin.ts';

let env: TestEnv;
let plugins: TestPlugins;
let worker: PluginWorker;
beforeAll(async () => {
  env = await startTestEnv();
  await definePosts(env);
  plugins = await TestPlugins.begin(env.servers[0]!.client);
  worker = await plugins.start(code);
});
afterAll(async () => {
  await plugins.stop();
  await env.stop();
});

const code = `
import { controllerFor, defineEndpoint, defineModel, definePlugin, EndpointAnswer, generationChanged, newNotFound, StatusError, Type, type ResourceType } from '@svc/sdk';

const postType: ResourceType = { group: 'test.example.com', version: 'v1', kind: 'Post', plural: 'posts', namespaced: false, hasStatusSubresource: true };
const Note = defineModel({ group: 'blog.example.com', version: 'v1', kind: 'Note', plural: 'notes', singular: 'note', spec: Type.Object({ text: Type.String() }) });
const counting = controllerFor(postType).named('counting').withPredicate(generationChanged).reconcile(async ({ name }, { client, log }) => {
  const { spec } = (await client.get(postType, { namespace: '', name })) as any;
  log.info({ name }, 'counting');
  await client.patchStatus(postType, { namespace: '', name }, { type: 'merge', patch: { status: { words: spec.title.split(' ').length } } });
});
const at = { group: 'blog.example.com', version: 'v1' } as const;
const echo = defineEndpoint({
  ...at, audience: 'console', method: 'POST', path: '/posts/{name}/parts/{part}', operationId: 'echo', summary: 'Says it again',
  params: Type.Object({ part: Type.Integer({ minimum: 1 }) }),
  query: Type.Object({ page: Type.Optional(Type.Integer({ default: 1 })), tag: Type.Optional(Type.Array(Type.String({ maxLength: 5 }))), draft: Type.Optional(Type.Boolean()), kind: Type.Optional(Type.Union([Type.Literal(80), Type.Literal('http')])) }),
  body: Type.Object({ title: Type.String({ minLength: 2, pattern: '^[a-z ]+$' }), tags: Type.Optional(Type.Array(Type.String(), { uniqueItems: true })), size: Type.Optional(Type.Number({ exclusiveMinimum: 0 })) }, { additionalProperties: false }),
  response: Type.Object({}),
  handler: async (request) => request,
});
const endpoint = (path: string, handler: (...args: any[]) => Promise<unknown>) => defineEndpoint({ ...at, audience: 'public', method: 'GET', path, handler });
const answers: Record<string, (request: any, context: any) => unknown> = {
  nothing: () => undefined,
  null: () => null,
  text: () => 'a text',
  created: () => new EndpointAnswer({ status: 201, headers: { Location: '/x' }, body: { made: true } }),
  html: () => new EndpointAnswer({ headers: { 'Content-Type': 'text/html' }, body: '<p>' }),
  empty: () => new EndpointAnswer({ status: 202 }),
  notFound: () => { throw newNotFound({ group: 'a', resource: 'b' }, 'c'); },
  teapot: () => { throw new StatusError(418, 'BadRequest', 'short and stout'); },
  functions: () => { throw Object.assign(newNotFound({ group: 'a', resource: 'b' }, 'c'), { details: { name: 'c', retryAfterSeconds: 1e400, f: () => 1 } }); },
  secret: () => { throw new Error('a secret'); },
  throwsText: () => { throw 'a secret'; },
  cookie: () => new EndpointAnswer({ headers: { 'set-cookie': 'a=b' }, body: 1 }),
  length: () => new EndpointAnswer({ headers: { 'Content-Length': '5' }, body: 1 }),
  split: () => new EndpointAnswer({ headers: { 'x-a': 'a\\r\\nx-b: b' }, body: 1 }),
  status: () => new EndpointAnswer({ status: 99, body: 1 }),
  function: () => () => 1,
  circle: () => { const a: any = {}; a.a = a; return a; },
  large: () => 'x'.repeat(9 << 20),
  titles: async (_request, { client }) => (await client.list(postType)).items.map((each: any) => each.metadata.name),
  wait: (_request, { signal, log }) => new Promise((resolve) => signal.addEventListener('abort', () => { log.warn({}, 'given up'); resolve(1); })),
};
const secretType: ResourceType = { group: 'test.example.com', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: false, hasStatusSubresource: true };
const failing = controllerFor(postType).named('failing').reconcile(async ({ name }, { client }) => {
  if (name === 'thrown') throw Object.assign(new RangeError('out of range', { cause: new Error('the cause') }), { request: { headers: { authorization: 'Bearer abcdef0123456789' } } });
  if (name === 'refused') await client.get(secretType, { namespace: '', name: 'none' });
  if (name === 'cached') await client.get(postType, { namespace: '', name: 'none' });
});
export default definePlugin({ models: [Note], controllers: [counting, failing], endpoints: [echo, endpoint('/answers/{name}', async (request, context) => answers[request.params.name](request, context))] });
`;

const sdk = `import { controllerFor, definePlugin, type ResourceType } from '@svc/sdk';
const postType: ResourceType = { group: 'test.example.com', version: 'v1', kind: 'Post', plural: 'posts', namespaced: false, hasStatusSubresource: true };
`;

function callOf(call: Partial<EndpointCall>): EndpointCall {
  const endpoint =
    call.operationId === 'getAnswersByName'
      ? 'GET /apis/api.blog.example.com/v1/answers/{name}'
      : 'POST /apis/console.api.blog.example.com/v1/posts/{name}/parts/{part}';
  return {
    plugin: 'test',
    operationId: 'echo',
    endpoint,
    params: { name: 'a', part: '1' },
    query: '',
    contentType: 'application/json',
    user: { name: 'jane', uid: '1', groups: ['g'] },
    requestId: 'r1',
    ...call,
  };
}

async function answer(
  call: Partial<EndpointCall>,
  signal = new AbortController().signal,
): Promise<EndpointResult & { json?: unknown; failure?: unknown }> {
  try {
    const result = await worker.call(callOf(call), signal);
    return {
      ...result,
      ...(result.body?.startsWith('{') === true ? { json: JSON.parse(result.body) as unknown } : {}),
    };
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return { status: error.code, headers: {}, failure: error.toStatus() };
  }
}

const body = (value: unknown): Uint8Array => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

test('it is described', () => {
  const { models, controllers, endpoints } = worker.description;
  expect(models).toMatchObject([
    {
      kind: 'CustomResourceDefinition',
      metadata: { name: 'notes.blog.example.com' },
      spec: { group: 'blog.example.com' },
    },
  ]);
  expect(controllers).toEqual(['counting', 'failing']);
  expect(endpoints).toMatchObject([
    {
      audience: 'console',
      group: 'blog.example.com',
      version: 'v1',
      method: 'POST',
      path: '/posts/{name}/parts/{part}',
      operationId: 'echo',
      summary: 'Says it again',
      params: { type: 'object', required: ['part'], properties: { part: { type: 'integer', minimum: 1 } } },
      body: {
        type: 'object',
        additionalProperties: false,
        required: ['title'],
        properties: { title: { type: 'string', minLength: 2 } },
      },
    },
    { audience: 'public', method: 'GET', path: '/answers/{name}', operationId: 'getAnswersByName' },
  ]);
});

test('its controllers run when they are started, over the API of the host', async () => {
  const { client } = env.servers[0]!;
  await client.create(postType, newPost('counted', 'one two three'));
  await worker.runControllers();
  for (;;) {
    const { status } = await client.get(postType, { namespace: '', name: 'counted' });
    if (status?.words === 3) break;
  }
  expect(plugins.logged(/^counting$/)[0]).toMatchObject({
    level: 'info',
    details: { plugin: 'test', name: 'counted' },
  });
});

test.each([
  ['thrown', { type: 'RangeError', message: 'out of range', cause: { type: 'Error', message: 'the cause' } }],
  ['refused', { type: 'StatusError', code: 404, reason: 'NotFound' }],
  ['cached', { type: 'StatusError', code: 404, message: 'posts.test.example.com "none" not found' }],
])(
  "a failing reconcile is logged with what was %s, the position in the author's file, object and attempt",
  async (name, err) => {
    const { client } = env.servers[0]!;
    await client.create(postType, newPost(name));
    let line: LogLine | undefined;
    while (line === undefined) {
      line = plugins
        .logged(/^the reconcile failed; retrying$/)
        .find(({ details }) => details['request'] === `/${name}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(line).toMatchObject({ level: 'warn', details: { plugin: 'test', controller: 'failing', failures: 1, err } });
    const number = code.split('\n').findIndex((text) => text.includes(`name === '${name}'`)) + 1;
    expect((line.details['err'] as { stack: string }).stack).toMatch(new RegExp(`/p1/index\\.ts:${number}:`));
    expect(JSON.stringify(plugins.lines)).not.toMatch(/abcdef0123456789/);
    await client.delete(postType, { namespace: '', name });
  },
);

test('it reports that its controllers run, and what prevents them', async () => {
  const broken = await plugins.start(`${sdk}
    let tries = 0;
    const definition = controllerFor(postType).named('broken').reconcile(async () => undefined);
    export default definePlugin({ controllers: [{ ...definition, begin: () => { tries += 1; if (tries === 1) throw new RangeError('not the first time'); return definition.begin(); } }] });`);
  await expect(broken.runControllers()).rejects.toMatchObject({
    reason: 'ControllersFailed',
    message: expect.stringMatching(
      /^the controller broken could not be started: RangeError: not the first time \(\/.*index\.ts:\d+:\d+\)$/,
    ),
  });
  await broken.runControllers();
  expect(broken.health).toEqual({});
  expect([await broken.stopControllers(10_000), await broken.stopControllers(10_000)]).toEqual([true, true]);
  await broken.runControllers();

  const waiting = await plugins.start(`${sdk}
    export default definePlugin({ controllers: [controllerFor({ ...postType, plural: 'nothings' }).named('waiting').reconcile(async () => undefined)] });`);
  await waiting.runControllers();
  expect(waiting.health).toEqual({
    controllers: expect.stringMatching(
      /^the controller waiting does not run: Error: nothings\.test\.example\.com cannot be followed; cause: StatusError: the server could not find the requested resource$/,
    ),
  });
});

test('it reports that a controller is still starting after its time', async () => {
  const slow = await plugins.start(`${sdk}
    const source = { start: (_enqueue, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(false))), stop: () => undefined };
    const definition = controllerFor(postType).named('slow').reconcile(async () => undefined);
    export default definePlugin({ controllers: [{ ...definition, begin: () => ({ ...definition.begin(), sources: [source] }) }] });`);
  await slow.runControllers();
  expect(slow.health).toEqual({ controllers: 'the controller slow is still starting' });
  expect(await slow.stopControllers(10_000)).toBe(true);
  expect(slow.health).toEqual({});
});

test('it reports which reconciles fail, how often and since when', async () => {
  const { client } = env.servers[0]!;
  let onHealth = (): void => undefined;
  const healthChanged = new Promise<void>((resolve) => (onHealth = resolve));
  const failing = await plugins.start(
    `${sdk}
    export default definePlugin({ controllers: [controllerFor(postType).named('failing').reconcile(async ({ name }) => {
      if (name === 'unlucky') throw new RangeError('out of luck');
    })] });`,
    { onHealth: () => onHealth() },
  );
  await client.create(postType, newPost('unlucky'));
  await failing.runControllers();
  await healthChanged;
  expect(failing.health.reconciles).toMatch(
    /^1 object fails since 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ; the last is \/unlucky, of the controller failing, at attempt \d+: RangeError: out of luck \(\/.*\/index\.ts:5:\d+\)$/,
  );
  await client.delete(postType, { namespace: '', name: 'unlucky' });
  await failing.stopControllers(10_000);
  expect(failing.health).toEqual({});
});

describe('a request', () => {
  test('is converted by its schemas', async () => {
    const { json } = await answer({
      params: { name: 'a b', part: '7' },
      query: 'tag=a&tag=b%20c&draft=true&kind=80&other=x&tag=',
      body: body({ title: 'a title', size: 0.5 }),
    });
    expect(json).toEqual({
      params: { name: 'a b', part: 7 },
      query: { page: 1, tag: ['a', 'b c', ''], draft: true, kind: 80 },
      body: { title: 'a title', size: 0.5 },
      user: { name: 'jane', uid: '1', groups: ['g'] },
      requestId: 'r1',
    });
  });

  test('may be YAML', async () => {
    for (const contentType of ['application/yaml', 'text/yaml; charset="UTF-8"'])
      expect((await answer({ contentType, body: body('title: abc') })).json).toMatchObject({ body: { title: 'abc' } });
  });

  const good = body({ title: 'ab' });
  const refused: [string, Partial<EndpointCall>, number, string][] = [
    [
      'of another type',
      { contentType: 'text/plain', body: good },
      415,
      'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, text/yaml',
    ],
    [
      'in another charset',
      { contentType: 'application/json; charset=latin1', body: good },
      415,
      'in an unknown format',
    ],
    ['without a body', {}, 400, 'the body of the request is empty'],
    ['that is not JSON', { body: body('{') }, 400, 'not valid JSON'],
    ['that is not UTF-8', { body: Buffer.from([0x22, 0xff, 0x22]) }, 400, 'not valid UTF-8'],
    ['nested too deep', { body: body('['.repeat(200) + ']'.repeat(200)) }, 400, 'nested deeper'],
    ['too large', { body: Buffer.alloc((3 << 20) + 1) }, 413, 'larger than 3145728 bytes'],
    ['with a parameter twice', { query: 'page=1&page=2', body: good }, 400, 'the parameter page is given 2 times'],
    ['with U+0000', { query: 'tag=%00', body: good }, 400, 'the parameter tag must not hold the character U+0000'],
    [
      'with a path that is not a number',
      { params: { name: 'a', part: 'x' }, body: good },
      422,
      'params.part: Invalid value: "x": must be of type integer',
    ],
    [
      'with a number in another notation',
      { params: { name: 'a', part: '0x10' }, body: good },
      422,
      'params.part: Invalid value: "0x10"',
    ],
    [
      'with a number that would be rounded',
      { params: { name: 'a', part: '9007199254740993' }, body: good },
      422,
      'params.part: Invalid value: "9007199254740993"',
    ],
    [
      'with a number out of range',
      { params: { name: 'a', part: '0' }, body: good },
      422,
      'params.part: Invalid value: 0: must be >= 1',
    ],
    [
      'with a query that breaks a rule',
      { query: 'tag=abcdef', body: good },
      422,
      'query.tag[0]: Invalid value: "abcdef": must NOT have more than 5 characters',
    ],
    [
      'with a value that is not in the enum',
      { query: 'kind=81', body: good },
      422,
      'query.kind: Invalid value: 81: is none of what the schema allows',
    ],
    ['without a field', { body: body({}) }, 422, 'echo.blog.example.com "" is invalid: body.title: Required value'],
    ['with an unknown field', { body: body({ title: 'ab', x: 1 }) }, 422, 'body.x: Forbidden: the field is not known'],
    [
      'with a body that is not an object',
      { body: body([1]) },
      422,
      'body: Invalid value: "array": must be of type object',
    ],
    [
      'with a number as text',
      { body: body({ title: 'ab', size: '1' }) },
      422,
      'body.size: Invalid value: "1": must be of type number',
    ],
    [
      'with an item twice',
      { body: body({ title: 'ab', tags: ['a', 'a'] }) },
      422,
      'body.tags: Invalid value: "array": must not have the same item twice',
    ],
    [
      'with a text that does not match the pattern',
      { body: body({ title: 'A1' }) },
      422,
      'body.title: Invalid value: "A1": should match \'^[a-z ]+$\'',
    ],
    [
      'with several faults',
      { params: { name: 'a', part: '0' }, body: body({ title: 'a', size: 0 }) },
      422,
      'body.size: Invalid value: 0: must be > 0, body.title: Invalid value: "a": must NOT have fewer than 2 characters, params.part',
    ],
    ['for an unknown endpoint', { operationId: 'gone' }, 503, 'the plugin has no endpoint gone at present'],
    [
      'for an endpoint with another audience before an upgrade',
      { endpoint: 'POST /apis/api.blog.example.com/v1/posts/{name}/parts/{part}', body: good },
      503,
      'the plugin has no endpoint echo at present',
    ],
    [
      'for an endpoint with another method before',
      { endpoint: 'PUT /apis/console.api.blog.example.com/v1/posts/{name}/parts/{part}', body: good },
      503,
      'the plugin has no endpoint echo at present',
    ],
    [
      'for an endpoint with another path before',
      { endpoint: 'POST /apis/console.api.blog.example.com/v1/posts/{name}/pieces/{part}', body: good },
      503,
      'the plugin has no endpoint echo at present',
    ],
  ];
  test.each(refused)('%s is refused', async (_case, call, status, message) => {
    expect(await answer(call)).toMatchObject({
      status,
      failure: { message: expect.stringContaining(message), code: status },
    });
  });

  test('reports each field that breaks a rule', async () => {
    const { failure } = await answer({ body: body({ title: 5 }) });
    expect(failure).toMatchObject({
      reason: 'Invalid',
      details: {
        group: 'blog.example.com',
        kind: 'echo',
        causes: [{ reason: 'FieldValueTypeInvalid', field: 'body.title' }],
      },
    });
  });
});

describe('a response', () => {
  const said: [string, object][] = [
    ['nothing', { status: 204, headers: {} }],
    ['null', { status: 200, headers: { 'content-type': 'application/json' }, body: 'null' }],
    ['text', { status: 200, headers: { 'content-type': 'application/json' }, body: '"a text"' }],
    [
      'created',
      { status: 201, headers: { 'content-type': 'application/json', location: '/x' }, body: '{"made":true}' },
    ],
    ['html', { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>' }],
    ['empty', { status: 202, headers: {} }],
    ['notFound', { status: 404, failure: { message: 'b.a "c" not found', details: { name: 'c' } } }],
    ['functions', { status: 404, failure: { details: { name: 'c', retryAfterSeconds: 86_400 } } }],
    ['teapot', { status: 418, failure: { message: 'short and stout' } }],
    ['titles', { status: 200, body: '["counted"]' }],
  ];
  test.each(said)('%s', async (name, expected) => {
    const result = await answer({ operationId: 'getAnswersByName', params: { name } });
    expect(result).toMatchObject(expected);
    expect('body' in result).toBe('body' in expected);
  });

  const wrong: [string, RegExp][] = [
    ['secret', /a secret/],
    ['throwsText', /the handler of an endpoint threw/],
    ['cookie', /the handler set the header set-cookie, which a handler must not set/],
    ['length', /the header content-length/],
    ['split', /the header x-a an invalid value/],
    ['status', /the status 99/],
    ['function', /a function, which JSON cannot represent/],
    ['circle', /circular/],
    ['large', /more than 8388608 characters/],
    ['absent', /is not a function/],
  ];
  test.each(wrong)('%s is a 500 without details, which are logged', async (name, logged) => {
    const before = plugins.lines.length;
    const { status, failure } = await answer({
      operationId: 'getAnswersByName',
      params: { name },
      requestId: `id-${name}`,
    });
    expect([status, (failure as { message: string }).message]).toEqual([
      500,
      'Internal error occurred: the request could not be completed',
    ]);
    const line = plugins.lines.slice(before).find(({ level }) => level === 'error')!;
    expect(line.details).toMatchObject({ plugin: 'test', operationId: 'getAnswersByName', requestId: `id-${name}` });
    expect(`${line.message} ${JSON.stringify(line.details)}`).toMatch(logged);
  });
});

describe('calls under way', () => {
  const wait = { operationId: 'getAnswersByName', params: { name: 'wait' } };

  test('are aborted by their signal, in the handler too', async () => {
    const abort = new AbortController();
    const call = answer(wait, abort.signal);
    setImmediate(() => abort.abort());
    expect(await call).toMatchObject({ status: 504 });
    while (plugins.logged(/^given up$/).length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await answer(wait, AbortSignal.abort())).toMatchObject({ status: 504 });
  });

  test('are limited, and fail when the worker ends', async () => {
    const other = await plugins.start(code);
    const signal = new AbortController().signal;
    const calls = Array.from({ length: 100 }, () =>
      other.call(callOf(wait), signal).catch((error: unknown) => isStatusError(error) && error.code),
    );
    await expect(other.call(callOf(wait), signal)).rejects.toMatchObject({ code: 429 });
    await other.stop(0);
    expect(new Set(await Promise.all(calls))).toEqual(new Set([503]));
  });
});
