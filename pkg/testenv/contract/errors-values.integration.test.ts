import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, withQuery, type ContractClient } from './client.ts';
import { article, articles, registerModels } from './models.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  await client.post(articles, article('kept', { slug: 'kept', publishedAt: '2026-01-01T00:00:00Z' }));
});
afterAll(() => env.stop());

describe('values beyond the limits of the database are client errors, never server errors', () => {
  test.each(['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59'])(
    'the date %s',
    async (date) => {
      for (const field of ['publishedAt', 'metadata.creationTimestamp']) {
        const listed = await client.get(withQuery(articles, { fieldSelector: `${field}>${date}` }));
        expect([listed.status, listed.body.details.causes?.[0]?.field]).toEqual([400, field]);
      }
      const created = await client.post(articles, article('edge', { publishedAt: date }));
      expect([created.status, created.body.details.causes?.[0]?.field]).toEqual([422, 'spec.publishedAt']);
    },
  );

  test.each(['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])('the date %s is valid', async (date) => {
    expect(
      (await client.get(withQuery(articles, { fieldSelector: `publishedAt>=${date}`, sort: 'publishedAt' }))).status,
    ).toBe(200);
    expect((await client.post(`${articles}?dryRun=All`, article('edge', { publishedAt: date }))).status).toBe(201);
  });

  test.each([
    ['beyond any date', (token: Record<string, unknown>) => ({ ...token, keys: [9_007_199_254_740_991] }), 400],
    ['from a future revision', (token: Record<string, unknown>) => ({ ...token, rv: 9_007_199_254_740_991 }), 410],
  ])('a continue token %s', async (_reason, forge, code) => {
    await client.post(articles, article('second', { publishedAt: '2026-01-02T00:00:00Z' }));
    const first = await client.get(withQuery(articles, { limit: '1', sort: 'publishedAt' }));
    const token = JSON.parse(Buffer.from(first.body.metadata.continue, 'base64url').toString()) as Record<
      string,
      unknown
    >;
    const forged = Buffer.from(JSON.stringify(forge(token))).toString('base64url');
    const answer = await client.get(withQuery(articles, { limit: '1', sort: 'publishedAt', continue: forged }));
    expect(answer.status).toBe(code);
  });
});

test.each([
  'application/problem+json',
  'application/json, application/problem+json',
  'text/html, application/problem+json;q=0.1',
])('a client that accepts %s gets problems, and objects as JSON', async (accept) => {
  const failed = await client.get(`${articles}/absent`, { accept });
  expect([failed.status, failed.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
  const found = await client.get(`${articles}/kept`, { accept });
  expect([found.status, found.headers.get('content-type')]).toEqual([200, 'application/json']);
});
