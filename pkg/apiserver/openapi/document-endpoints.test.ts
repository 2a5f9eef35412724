import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  ModelList,
  registered,
  startDocumentServer,
  testModel,
  type DocumentTestServer,
} from './document-test-server.ts';

const registry = new ModelList([testModel()]);
const anonymous = { authorization: '' };
let server: DocumentTestServer;

beforeAll(async () => {
  server = await startDocumentServer(registry);
});

afterAll(() => server.stop());

async function urlInIndex(): Promise<string> {
  const { paths } = (await server.get('/openapi/v3')).json() as {
    paths: Record<string, { serverRelativeURL: string }>;
  };
  return paths['apis/blog.example.com/v1']!.serverRelativeURL;
}

describe('/openapi/v3', () => {
  test('caches keep a document with the right hash for a year', async () => {
    const answer = await server.get(await urlInIndex(), { accept: 'application/json' });
    expect(answer).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'application/json',
        'cache-control': 'private, immutable',
        etag: expect.stringMatching(/^"[0-9A-F]{64}"$/),
      },
    });
    expect(Date.parse(answer.headers.expires!)).toBeGreaterThan(Date.now() + 364 * 86_400_000);
    expect(answer.json()).toMatchObject({ openapi: '3.0.0' });
    expect((await server.get(await urlInIndex(), { 'if-none-match': answer.headers.etag! })).status).toBe(304);
  });

  test('a wrong hash is redirected to the right one', async () => {
    expect(await server.get('/openapi/v3/apis/blog.example.com/v1?hash=OLD')).toMatchObject({
      status: 301,
      headers: { location: await urlInIndex() },
    });
  });

  test('a document without a hash is not cached', async () => {
    expect(await server.get('/openapi/v3/apis/blog.example.com/v1')).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'no-cache, private' },
    });
  });

  test('the hash changes with the model', async () => {
    const before = await urlInIndex();
    const changed = testModel({}, { subresources: { status: true } });
    registry.set([registered(changed)]);
    const after = await urlInIndex();
    expect(after).not.toBe(before);
    expect(await server.get(before)).toMatchObject({ status: 301, headers: { location: after } });
    expect((await server.get(after)).text).toContain('/posts/{name}/status');
    registry.set([registered(testModel())]);
    expect(await urlInIndex()).toBe(before);
  });
});

describe('/openapi/v2', () => {
  const protobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

  test.each([
    ['a client without a preference', undefined, 'application/json'],
    ['a client of JSON', 'application/json', 'application/json'],
    ['kubectl up to 1.24', 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf', protobuf],
    ['kubectl from 1.25', protobuf, protobuf],
    ['a client of both', `application/json;q=0.5, ${protobuf}`, protobuf],
  ])('%s gets its format', async (_reason, accept, type) => {
    const answer = await server.get('/openapi/v2', accept === undefined ? {} : { accept });
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': type } });
    expect(answer.headers.vary).toContain('Accept');
    expect(answer.text.startsWith('{"swagger":"2.0"')).toBe(type === 'application/json');
    const again = { 'if-none-match': answer.headers.etag!, ...(accept === undefined ? {} : { accept }) };
    expect(await server.get('/openapi/v2', again)).toMatchObject({ status: 304, text: '' });
  });
});

test.each([
  ['an unknown group', '/openapi/v3/apis/no.example.com/v1', {}, 404],
  ['a name of Object.prototype', '/openapi/v3/__proto__', {}, 404],
  [
    'protobuf alone, version 3',
    '/openapi/v3',
    { accept: 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf' },
    406,
  ],
  ['HTML alone, version 2', '/openapi/v2', { accept: 'text/html' }, 406],
  ['below version 2', '/openapi/v2/apis/blog.example.com/v1', {}, 404],
  ['version 2 without a credential', '/openapi/v2', anonymous, 401],
  ['a missing document', '/docs/openapi/none.json', {}, 404],
  ['a name of Object.prototype again', '/docs/openapi/constructor.json', {}, 404],
  ['the folder of the documents', '/docs/openapi', {}, 404],
  ['a file below the open document', '/docs/openapi/public.json/extension.json', {}, 404],
  ['a file of the package that does not belong to the page', '/docs/package.json', {}, 404],
  ['a path out of the folder', '/docs/..%2f..%2fpackage.json', {}, 400],
  ['the page as a folder', '/docs/', {}, 308],
  ['a document without a credential', '/docs/openapi/extension.json', anonymous, 401],
  ['the aggregated document without a credential', '/docs/openapi/aggregated.json', anonymous, 401],
  ['a missing document without a credential', '/docs/openapi/none.json', anonymous, 401],
  ['documents of Kubernetes without a credential', '/openapi/v3', anonymous, 401],
  ['the public document without a credential', '/docs/openapi/public.json', anonymous, 200],
  ['the page without a credential', '/docs', anonymous, 200],
  ['the files of the page without a credential', '/docs/swagger-ui-bundle.js', anonymous, 200],
])('%s: %s', async (_reason, path, headers, status) => {
  expect((await server.get(path, headers)).status).toBe(status);
});

test('writes are refused', async () => {
  for (const path of ['/docs', '/docs/openapi/public.json', '/openapi/v3', '/openapi/v2']) {
    expect(await server.get(path, {}, { method: 'POST' })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    });
  }
});

describe('the documentation page', () => {
  test('allows nothing inline and nothing from other origins', async () => {
    const answer = await server.get('/docs', anonymous);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
    });
    expect(answer.headers['content-security-policy']).toMatch(/^default-src 'self'; img-src 'self' data:;/);
    expect(answer.headers['content-security-policy']).not.toContain('unsafe');
    expect(answer.text).not.toMatch(/<script>|<style|style=|\son\w+=|https?:\/\//);
  });

  test('has files that are revalidated, compressed if accepted, and have a length', async () => {
    const plain = await server.get('/docs/swagger-ui.css', anonymous);
    expect(plain.headers).toMatchObject({
      'cache-control': 'no-cache',
      'content-length': String(Buffer.byteLength(plain.text)),
    });
    expect(
      await server.get('/docs/swagger-ui.css', { ...anonymous, 'if-none-match': plain.headers.etag! }),
    ).toMatchObject({ status: 304, text: '' });
    expect(await server.get('/docs/swagger-ui.css', anonymous, { method: 'HEAD' })).toMatchObject({
      status: 200,
      text: '',
    });
    const zipped = await fetch(`${server.origin}/docs/init.js`, { headers: { 'accept-encoding': 'gzip' } });
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(await zipped.text()).toContain('SwaggerUIBundle');
  });
});

test('large documents are complete', async () => {
  const many = Array.from({ length: 100 }, (_, index) => registered(testModel({ group: `g${index}.example.com` })));
  registry.set(many);
  const answer = await server.get('/docs/openapi/extension.json');
  expect(Object.keys(answer.json()['paths'] as object)).toHaveLength(200);
  registry.set([registered(testModel())]);
});
