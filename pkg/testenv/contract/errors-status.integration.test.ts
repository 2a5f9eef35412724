import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, mergePatch, type ContractClient } from './client.ts';
import { article, articles, notesIn, registerModels, report, reports } from './models.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  await client.post(articles, article('kept', { slug: 'kept' }));
  await client.post(reports, report('kept'));
});
afterAll(() => env.stop());

interface Failure {
  reason: string;
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  code: number;
  message?: string | RegExp;
  details?: Record<string, unknown>;
}

const of = { group: 'contract.example.com', kind: 'articles' };
const failures: Failure[] = [
  {
    reason: 'NotFound',
    method: 'GET',
    path: `${articles}/x`,
    code: 404,
    message: 'articles.contract.example.com "x" not found',
    details: { ...of, name: 'x' },
  },
  {
    reason: 'NotFound',
    method: 'DELETE',
    path: `${articles}/x`,
    code: 404,
    message: 'articles.contract.example.com "x" not found',
    details: { ...of, name: 'x' },
  },
  {
    reason: 'NotFound',
    method: 'PATCH',
    path: `${articles}/x`,
    body: {},
    headers: mergePatch,
    code: 404,
    message: 'articles.contract.example.com "x" not found',
  },
  {
    reason: 'NotFound',
    method: 'GET',
    path: '/apis/contract.example.com/v1/absents',
    code: 404,
    message: 'the server could not find the requested resource',
  },
  {
    reason: 'NotFound',
    method: 'POST',
    path: '/apis/contract.example.com/v2/articles',
    body: {},
    code: 404,
    message: 'the server could not find the requested resource',
  },
  {
    reason: 'NotFound',
    method: 'GET',
    path: '/apis/absent.example.com/v1/articles/x',
    code: 404,
    message: 'the server could not find the requested resource',
  },
  { reason: 'NotFound', method: 'GET', path: `${articles}/kept/status/more/and/more`, code: 404 },
  {
    reason: 'NotFound',
    method: 'GET',
    path: '/nowhere',
    code: 404,
    message: 'the server could not find the requested resource',
  },
  {
    reason: 'NotFound',
    method: 'GET',
    path: `${notesIn('default')}/x`,
    code: 404,
    message: 'notes.contract.example.com "x" not found',
  },
  {
    reason: 'AlreadyExists',
    method: 'POST',
    path: articles,
    body: article('kept'),
    code: 409,
    message: 'articles.contract.example.com "kept" already exists',
    details: { ...of, name: 'kept' },
  },
  {
    reason: 'Conflict',
    method: 'PUT',
    path: `${articles}/kept`,
    body: article('kept', { title: 'z' }, { resourceVersion: '1' }),
    code: 409,
    message:
      /^Operation cannot be fulfilled on articles\.contract\.example\.com "kept": the object has been modified; please apply your changes to the latest version and try again$/,
    details: { ...of, name: 'kept' },
  },
  {
    reason: 'Invalid',
    method: 'POST',
    path: articles,
    body: article('bad', { title: 'x'.repeat(50) }),
    code: 422,
    message: /^Article\.contract\.example\.com "bad" is invalid: spec\.title: Too long: may not be more than 40 /,
    details: { group: of.group, kind: 'Article', name: 'bad' },
  },
  { reason: 'BadRequest', method: 'POST', path: articles, body: { ...article('a'), kind: 'Report' }, code: 400 },
  {
    reason: 'BadRequest',
    method: 'PUT',
    path: articles,
    body: article('a'),
    code: 400,
    message: /name must be provided/,
  },
  { reason: 'MethodNotAllowed', method: 'POST', path: `${articles}/kept`, body: article('kept'), code: 405 },
  {
    reason: 'BadRequest',
    method: 'PATCH',
    path: articles,
    body: {},
    headers: mergePatch,
    code: 400,
    message: /name must be provided/,
  },
  { reason: 'MethodNotAllowed', method: 'DELETE', path: `${reports}/kept/status`, code: 405 },
  { reason: 'MethodNotAllowed', method: 'POST', path: `${reports}/kept/status`, body: report('kept'), code: 405 },
  { reason: 'NotAcceptable', method: 'GET', path: articles, headers: { accept: 'image/png' }, code: 406 },
  {
    reason: 'NotAcceptable',
    method: 'GET',
    path: `${articles}/kept`,
    headers: { accept: 'application/vnd.kubernetes.protobuf' },
    code: 406,
  },
  {
    reason: 'UnsupportedMediaType',
    method: 'POST',
    path: articles,
    body: 'x',
    headers: { 'content-type': 'text/plain' },
    code: 415,
  },
  {
    reason: 'UnsupportedMediaType',
    method: 'PUT',
    path: `${articles}/kept`,
    body: '<x/>',
    headers: { 'content-type': 'application/xml' },
    code: 415,
  },
  {
    reason: 'UnsupportedMediaType',
    method: 'POST',
    path: articles,
    body: JSON.stringify(article('utf')),
    headers: { 'content-type': 'application/json; charset=utf-16' },
    code: 415,
  },
  {
    reason: 'UnsupportedMediaType',
    method: 'POST',
    path: articles,
    body: JSON.stringify(article('enc')),
    headers: { 'content-type': 'application/json', 'content-encoding': 'br' },
    code: 415,
  },
];

describe('a Status', () => {
  test.each(failures)(
    '$reason: $method $path',
    async ({ reason, method, path, body, headers, code, message, details }) => {
      const answer = await client.send(method, path, {
        ...(body === undefined ? {} : { body }),
        ...(headers === undefined ? {} : { headers }),
      });
      expect(answer.status).toBe(code);
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      expect(answer.body).toMatchObject({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        reason,
        code,
        message: expect.any(String),
      });
      if (typeof message === 'string') expect(answer.body.message).toBe(message);
      if (message instanceof RegExp) expect(answer.body.message).toMatch(message);
      if (details !== undefined) expect(answer.body.details).toMatchObject(details);
    },
  );

  test.each(failures)('as problem+json: $reason: $method $path', async ({ method, path, body, headers = {}, code }) => {
    if ('accept' in headers) return;
    const as = { ...headers, accept: 'application/problem+json' };
    const answer = await client.send(method, path, { ...(body === undefined ? {} : { body }), headers: as });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      code,
      expect.stringMatching(/^application\/problem\+json/),
    ]);
    const status = await client.send(method, path, { ...(body === undefined ? {} : { body }), headers });
    expect(answer.body).toMatchObject({
      type: expect.any(String),
      title: expect.any(String),
      status: code,
      detail: status.body.message,
      instance: expect.any(String),
      requestId: answer.headers.get('x-request-id'),
    });
    expect(answer.body.code).toBeDefined();
    const { errors } = answer.body as unknown as { errors?: unknown[] };
    expect(errors ?? []).toHaveLength(status.body.details?.causes?.length ?? 0);
  });
});

describe('problem+json', () => {
  const accept = { accept: 'application/problem+json' };
  test('lists one error per field, with the facts of the causes', async () => {
    const sent = article('bad', { title: 'x'.repeat(50), priority: 5000 });
    const { body } = await client.post(articles, sent, accept);
    const { errors } = body as unknown as { errors: Record<string, unknown>[] };
    const { details } = (await client.post(articles, sent)).body;
    expect(errors).toHaveLength(2);
    for (const [i, { field, message }] of details.causes!.entries()) {
      const told = JSON.stringify(errors[i]);
      expect(told).toContain(field);
      expect(told).toContain(JSON.stringify(message).slice(1, -1));
    }
  });

  test('does not change successful answers', async () => {
    const read = await client.get(`${articles}/kept`, { accept: 'application/json, application/problem+json' });
    expect([read.status, read.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^application\/json/)]);
    const only = await client.get(`${articles}/kept`, accept);
    expect(only.status).toBe(200);
    expect(only.body.metadata.name).toBe('kept');
  });

  test('of a 504 has Retry-After too', async () => {
    const { status, headers } = await client.get(`${articles}?resourceVersion=999999999999`, accept);
    expect([status, headers.get('retry-after'), headers.get('content-type')]).toEqual([
      504,
      '1',
      expect.stringMatching(/^application\/problem\+json/),
    ]);
  });
});

test('a watch in YAML is 406, answered in YAML', async () => {
  const { status, text } = await client.get(`${articles}?watch=true`, { accept: 'application/yaml' });
  expect([status, text.replaceAll(/\s+/g, ' ')]).toEqual([
    406,
    expect.stringContaining('only the following media types are accepted: application/json;stream=watch'),
  ]);
});

test('errors ignore as=Table', async () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
  expect((await client.get(`${articles}/x`, { accept })).body).toMatchObject({ kind: 'Status', code: 404 });
});

test.each([
  '*/*',
  'application/*',
  'application/json, */*;q=0.8',
  'text/html, application/json;q=0.5',
  'application/vnd.kubernetes.protobuf, application/json',
  '',
  'application/json;charset=utf-8',
])('Accept: %s is served', async (accept) => {
  const { status, body } = await client.get(`${articles}/kept`, { accept });
  expect([status, body.kind]).toEqual([200, 'Article']);
});
