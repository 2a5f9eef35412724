import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { notesPath, newTestPost, posts, startTestApi, type TestApi } from './start-test-api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi({ http: { host: '127.0.0.1', port: 0, requestTimeoutMs: 10_000 } });
  await api.call('POST', posts, { body: newTestPost('a', { title: 't', replicas: 1 }, { labels: { l: 'v' } }) });
});

afterAll(() => api?.stop());

const parameters = [
  'page',
  'size',
  'limit',
  'continue',
  'sort',
  'labelSelector',
  'fieldSelector',
  'exactTotal',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'dryRun',
  'fieldValidation',
  'fieldManager',
  'propagationPolicy',
  'gracePeriodSeconds',
  'orphanDependents',
  '__proto__',
];
const values = fc.oneof(
  fc.constantFrom(
    '0',
    '1',
    '-1',
    '20',
    '9007199254740993',
    '1e5',
    'true',
    'All',
    'Strict',
    'Exact',
    'NotOlderThan',
    'spec.title',
    'spec.title,desc',
    'spec.title=t',
    'spec.title>=a',
    'metadata.creationTimestamp<2030-01-01',
    'l=v',
    'l in (v,w)',
    '!l',
    'null',
    '\u0000',
    '{}',
  ),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);
const query = fc.array(fc.tuple(fc.constantFrom(...parameters), values), { maxLength: 4 }).map((pairs) => {
  const search = new URLSearchParams(pairs);
  return search.size === 0 ? '' : `?${search.toString()}`;
});
const header = fc.oneof(
  fc.constantFrom('*', '"1"', 'W/"1"', '"', 'a, "2"', 'x'.repeat(300)),
  fc.string({ minLength: 1, maxLength: 8 }).filter((text) => /^[\x21-\x7e]+$/.test(text)),
);
const headers = fc.record(
  {
    'Content-Type': fc.constantFrom(
      'application/json',
      'application/yaml',
      'application/merge-patch+json',
      'application/json-patch+json',
      'text/plain',
      ';;',
    ),
    Accept: fc.constantFrom(
      'application/json',
      'application/yaml',
      'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
      '*/*',
      'a/b;q=x',
    ),
    'If-Match': header,
    'If-None-Match': header,
    'Idempotency-Key': header,
  },
  { requiredKeys: [] },
);
const json = fc.jsonValue({ maxDepth: 3 });
const bodies = fc.oneof(
  json.map((value) => JSON.stringify(value)),
  json.map((spec) => JSON.stringify({ ...newTestPost('a'), spec })),
  json.map((metadata) => JSON.stringify({ ...newTestPost('a'), metadata })),
  json.map((spec) => JSON.stringify({ kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: { name: 'a' }, spec })),
  json.map((value) => JSON.stringify([{ op: 'add', path: '/spec', value }])),
  fc.constantFrom(
    '',
    '{',
    'a: [',
    '- - -',
    '{"__proto__":{"a":1}}',
    '['.repeat(200),
    '{"a":1e400}',
    '{"metadata":{"name":"\\ud800"}}',
    '{"spec":{"title":"\\u0000"}}',
  ),
);
const paths = fc.constantFrom(
  posts,
  `${posts}/a`,
  `${posts}/b`,
  `${posts}/a/status`,
  `${posts}/a/scale`,
  notesPath,
  `${notesPath}/a`,
  '/api/v1/namespaces',
  '/api/v1/namespaces/default',
);

describe('a request, whatever is in it', () => {
  test('is never an internal error', async () => {
    const methods = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE');
    await fc.assert(
      fc.asyncProperty(methods, paths, query, headers, bodies, async (method, path, search, sent, body) => {
        const answer = await api.call(method, `${path}${search}`, {
          headers: sent,
          ...(method === 'GET' || method === 'HEAD' ? {} : { body }),
        });
        // A resourceVersion in the future is the only way for a client to cause a 504.
        expect([200, 201, 304, 400, 403, 404, 405, 406, 409, 410, 412, 413, 415, 422, 504]).toContain(answer.status);
        if (answer.status === 504 && method !== 'HEAD') expect(answer.text).toContain('Too large resource version');
      }),
      { numRuns: 400 },
    );
  });
});

test.each(['%', '%2', '%zz', 'a%', '%ff', '%C3', '%ED%A0%80'])(
  'a parameter of any name with the escape %s is a 400 that names it, before anything is done',
  async (escape) => {
    for (const [method, name] of [
      ['GET', 'watch'],
      ['GET', 'labelSelector'],
      ['GET', 'unknown'],
      ['POST', 'dryRun'],
      ['DELETE', 'dryRun'],
      ['PATCH', 'fieldValidation'],
    ] as const) {
      const path = method === 'GET' || method === 'POST' ? posts : `${posts}/a`;
      const { status, body } = await api.call(
        method,
        `${path}?limit=1&${name}=${escape}`,
        method === 'GET' ? {} : { body: newTestPost('x') },
      );
      expect([method, status, body.message]).toEqual([
        method,
        400,
        `query parameter "${name}": has malformed percent-encoding`,
      ]);
      expect(body.details.causes).toEqual([
        { reason: 'FieldValueInvalid', message: 'has malformed percent-encoding', field: name },
      ]);
    }
    expect((await api.call('GET', `${posts}/${escape}`)).status).toBe(400);
    expect((await api.call('GET', `${posts}/a`)).status).toBe(200);
    expect((await api.call('GET', `${posts}/x`)).status).toBe(404);
  },
);

test('more than 1000 parameters are a 400', async () => {
  expect((await api.call('GET', `${posts}?${'a=1&'.repeat(999)}limit=1`)).status).toBe(200);
  expect(await api.call('GET', `${posts}?${'a=1&'.repeat(1000)}limit=1`)).toMatchObject({
    status: 400,
    body: { message: 'a query has at most 1000 parameters' },
  });
});
