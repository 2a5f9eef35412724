import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { ApiServer } from './api-server.ts';

const server = new ApiServer({ svcVersion: '2.22.0', log: pino({ level: 'silent' }), metrics: new Registry(), http: { host: '127.0.0.1', port: 0 } });
let url: string;

beforeAll(async () => {
  url = `http://127.0.0.1:${(await server.listen()).port}`;
});

afterAll(() => server.stop());

test.each([
  ['/livez', 200, null],
  ['/version', 200, null],
  ['/readyz', 503, null],
  ['/metrics', 503, '1'],
  ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', 503, '1'],
  ['/docs', 503, '1'],
])('before it serves, a server is alive and not ready: %s is %d', async (path, status, retryAfter) => {
  const answer = await fetch(`${url}${path}`);
  await answer.text();
  expect(answer.status).toBe(status);
  expect(answer.headers.get('retry-after')).toBe(retryAfter);
});
