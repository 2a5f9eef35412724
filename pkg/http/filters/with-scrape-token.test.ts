import { afterEach, expect, test } from '@jest/globals';
import { newUnauthorized } from '#pkg/apimachinery/index';
import { sendJson } from '../answer/respond.ts';
import type { Handler } from '../request/request-context.ts';
import { startTestServer, type TestHttpServer } from '../server/start-test-server.ts';
import { withScrapeToken, type ScrapeToken } from './with-scrape-token.ts';
import { withStatus } from './with-status.ts';

const token = 'scrape-token-of-the-test';
const bearer = `Bearer ${token}`;
const metrics: Handler = (context) => sendJson(context, 200, '"metrics"');
const refuse: Handler = () => Promise.reject(newUnauthorized());
let started: TestHttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.map(({ server }) => server.close({ drainTimeoutMs: 0 })));
  started = [];
});

async function start(accepted?: ScrapeToken): Promise<TestHttpServer> {
  const server = await startTestServer(refuse, { filters: () => [withStatus(), withScrapeToken(accepted, metrics)] });
  started.push(server);
  return server;
}

test.each([
  ['/metrics', bearer, 200],
  ['/metrics', `bearer ${token}`, 200],
  ['/metrics?name=up', bearer, 200],
  ['/metrics', `${bearer}x`, 401],
  ['/metrics', bearer.slice(0, -1), 401],
  ['/metrics', `Basic ${token}`, 401],
  ['/metrics', token, 401],
  ['/metrics', '', 401],
  ['/metrics', undefined, 401],
  ['/metrics/', bearer, 401],
  ['/metricsx', bearer, 401],
  ['/api/v1/namespaces', bearer, 401],
])('%s with %s is %i', async (path, authorization, expected) => {
  const { send } = await start(async () => token);
  const answer = await send({ path, headers: authorization === undefined ? {} : { authorization } });
  expect(answer.status).toBe(expected);
  if (expected === 200) expect(answer.body.toString()).toBe('"metrics"');
});

test('it compares with the token of the moment', async () => {
  let now = token;
  const { send } = await start(async () => now);
  const scrape = async (): Promise<number> =>
    (await send({ path: '/metrics', headers: { authorization: bearer } })).status;
  expect(await scrape()).toBe(200);
  now = 'the-next-scrape-token';
  expect(await scrape()).toBe(401);
});

test('without a token of its own it accepts none', async () => {
  const { send } = await start();
  expect((await send({ path: '/metrics', headers: { authorization: bearer } })).status).toBe(401);
});
