import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, type ContractClient } from './client.ts';
import { article, articles, namespaces, registerModels } from './models.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  await client.post(articles, article('kept'));
});
afterAll(() => env.stop());

const authorization = () => ({ authorization: `Bearer ${env.token}` });

/** Sends a request line that fetch would normalize. */
function raw(
  method: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(env.url);
    const sent = httpRequest(
      { hostname, port, method, path, headers: { ...authorization(), ...headers }, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }));
      },
    );
    sent.on('error', reject).end();
  });
}

describe('X-Request-Id', () => {
  test.each([
    ['a list', 'GET', articles, 200],
    ['an object', 'GET', `${articles}/kept`, 200],
    ['a 404', 'GET', `${articles}/x`, 404],
    ['an unknown path', 'GET', '/nowhere', 404],
    ['a 400', 'GET', `${articles}?page=x`, 400],
    ['a 405', 'POST', `${articles}/kept`, 405],
    ['a watch', 'GET', `${articles}?watch=true&timeoutSeconds=1`, 200],
    ['namespaces', 'GET', namespaces, 200],
    ['discovery', 'GET', '/apis', 200],
    ['health', 'GET', '/livez', 200],
    ['the version', 'GET', '/version', 200],
  ])('is on %s', async (_, method, path, status) => {
    const answer = await client.send(method, path, method === 'POST' ? { body: {} } : {});
    expect([answer.status, answer.headers.get('x-request-id')]).toEqual([status, expect.stringMatching(/^\S+$/)]);
  });

  test('differs from request to request', async () => {
    const ids = await Promise.all(
      Array.from({ length: 10 }, async () => (await client.get(articles)).headers.get('x-request-id')),
    );
    expect(new Set(ids).size).toBe(10);
  });

  test('is on a 401', async () => {
    const anonymous = await fetch(`${env.url}${articles}`);
    expect([anonymous.status, anonymous.headers.has('x-request-id')]).toEqual([401, true]);
  });

  test('of a client cannot inject headers', async () => {
    for (const id of ['mine-1', 'a'.repeat(5000), '"; DROP', '<script>', '\u00ff']) {
      const { status, headers } = await client.get(`${articles}/kept`, { 'x-request-id': id });
      expect([200, 400, 431]).toContain(status);
      expect((headers.get('x-request-id') ?? 'none').length).toBeLessThan(300);
    }
  });
});

test('answers are not cached by others', async () => {
  for (const path of [articles, `${articles}/kept`, `${articles}/x`]) {
    const { headers } = await client.get(path);
    expect([headers.get('cache-control'), headers.has('audit-id')]).toEqual(['no-cache, private', true]);
  }
});

describe('401', () => {
  test.each([
    ['no credentials', {}],
    ['an empty token', { authorization: 'Bearer ' }],
    ['another token', { authorization: `Bearer pat_${'a'.repeat(36)}` }],
    ['not a personal token', { authorization: 'Bearer abc' }],
    ['Basic, which is off', { authorization: `Basic ${Buffer.from('admin:admin').toString('base64')}` }],
    ['an unknown scheme', { authorization: 'Digest x' }],
    ['nonsense', { authorization: 'nonsense' }],
    ['as a browser', { accept: 'text/html,application/xhtml+xml' }],
    ['as problem+json', { accept: 'application/problem+json' }],
  ])('%s: with WWW-Authenticate, never a redirect', async (reason, headers) => {
    for (const path of [articles, `${articles}/kept`, '/apis', '/nowhere', `${articles}?watch=true`]) {
      const response = await fetch(`${env.url}${path}`, {
        headers: headers as Record<string, string>,
        redirect: 'manual',
      });
      const text = await response.text();
      expect([path, response.status, response.headers.get('www-authenticate')]).toEqual([
        path,
        401,
        expect.stringMatching(/^(Bearer|Basic)/),
      ]);
      if (reason === 'as problem+json') expect(JSON.parse(text)).toMatchObject({ status: 401 });
      else
        expect(JSON.parse(text)).toMatchObject({
          kind: 'Status',
          reason: 'Unauthorized',
          message: 'Unauthorized',
          code: 401,
        });
    }
  });

  test('a token in the query or in a cookie is ignored', async () => {
    for (const [query, headers] of [
      [`?access_token=${env.token}`, {}],
      ['', { cookie: `token=${env.token}` }],
    ] as const) {
      expect((await fetch(`${env.url}${articles}${query}`, { headers })).status).toBe(401);
    }
  });

  test('a write without credentials is refused before its body is read', async () => {
    const response = await fetch(`${env.url}${articles}`, {
      method: 'POST',
      body: '{',
      headers: { 'content-type': 'application/json' },
    });
    expect(response.status).toBe(401);
  });

  test.each(['/livez', '/readyz', '/version'])('%s needs no credential', async (path) => {
    expect((await fetch(`${env.url}${path}`)).status).toBe(200);
  });
});

test('impersonation is 403 unless it is supported and allowed', async () => {
  for (const headers of [
    { 'impersonate-user': 'somebody' },
    { 'impersonate-group': 'system:masters' },
    { 'impersonate-uid': 'x' },
  ]) {
    const { status, body } = await client.get(articles, headers);
    expect([400, 403]).toContain(status);
    expect(body.kind).toBe('Status');
  }
});

describe('odd requests', () => {
  test.each([
    ['TRACE', articles],
    ['PROPFIND', articles],
    ['OPTIONS', articles],
    ['DELETE', '/apis'],
    ['POST', '/livez'],
    ['GET', '/apis/../apis/contract.example.com/v1/articles/absent'],
    ['GET', `${articles}/%2e%2e/%2e%2e`],
    ['GET', `${articles}//kept`],
    ['GET', `${articles}/kept%00`],
    ['GET', `${articles}?%`],
    ['GET', `${articles}?labelSelector=%ff%fe`],
    ['GET', `${articles}?labelSelector=%zz`],
    ['GET', `${articles}?page[]=1&page[a]=2`],
    ['GET', `${articles}?page=1&page=2`],
    ['GET', `${articles}?size=1&size=x`],
    ['GET', `${articles}?__proto__[x]=1&constructor=1`],
    ['GET', `${articles}?${'a=1&'.repeat(3000)}`],
    ['GET', '*'],
    ['GET', 'http://other.example.com/apis'],
    ['GET', `/apis/${'x'.repeat(5000)}`],
  ])('%s %s is never an error of the server', async (method, path) => {
    const { status, text } = await raw(method, path);
    expect(status).toBeLessThan(500);
    expect(text).not.toMatch(/node_modules|\.ts:\d|at .*\(/);
  });

  test('two different page parameters are refused, or one of them is used', async () => {
    const { status } = await raw('GET', `${articles}?size=1&size=x`);
    expect([200, 400]).toContain(status);
  });
});

// Last, because the server closes the connection after an unread body, perhaps while the next request is sent on it.
test('X-Request-Id is on a 413', async () => {
  const large = await client.post(articles, 'x'.repeat(3 * 1024 * 1024 + 1));
  expect([large.status, large.headers.has('x-request-id')]).toEqual([413, true]);
});
