import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { newUnauthorized } from '#pkg/apimachinery/index';
import { pollUntil } from '../testenv/faults/poll-until.ts';
import { ApiServer } from './api-server.ts';
import type { ModelRegistry } from './rest/served-resource.ts';

const server = new ApiServer({
  svcVersion: '2.22.0',
  log: pino({ level: 'silent' }),
  metrics: new Registry(),
  http: { host: '127.0.0.1', port: 0 },
});
const noModels: ModelRegistry = {
  find: () => undefined,
  findNewest: () => Promise.resolve(undefined),
  models: () => [],
  generation: 0,
  hasNamespace: () => Promise.resolve(false),
};
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

test.each([
  ['/livez', 200],
  ['/version', 200],
  ['/readyz', 503],
  ['/healthz?verbose', 503],
  ['/apis', 429],
])('a connection beyond the limit may send a probe: %s is %d', async (path, status) => {
  const full = new ApiServer({
    svcVersion: '2.22.0',
    log: pino({ level: 'silent' }),
    metrics: new Registry(),
    http: { host: '127.0.0.1', port: 0, limits: { connections: 0 } },
  });
  const { port } = await full.listen();
  expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(status);
  await full.stop();
});

test('concurrent readiness probes are all answered, and share one run of the checks', async () => {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let checks = 0;
  const metrics = new Registry();
  const asked = new ApiServer({
    svcVersion: '2.22.0',
    log: pino({ level: 'silent' }),
    metrics,
    http: {
      host: '127.0.0.1',
      port: 0,
      maxInFlight: { total: 1, perUser: 1, maxWaitMs: 0, wrongCredentialsPerMinute: 1 },
    },
  });
  const { port } = await asked.listen();
  asked.serve({
    registry: noModels,
    store: {
      ping: () => {
        checks += 1;
        return opened;
      },
    },
    authenticator: { authenticateRequest: () => Promise.reject(newUnauthorized()) },
    authorizer: { authorize: () => Promise.resolve({ allowed: false, reason: '' }) },
  });
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: 'Bearer wrong' } })).status;
  expect([await statusOf('/apis'), await statusOf('/apis')]).toEqual([401, 429]);
  const answers = Array.from({ length: 100 }, () => [statusOf('/readyz'), statusOf('/healthz')]).flat();
  expect(await statusOf('/version')).toBe(200);
  await pollUntil(async () =>
    /^http_server_active_requests\{http_request_method="GET",url_scheme="http"\} 200$/m.test(await metrics.metrics()),
  );
  open();
  expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
  expect(checks).toBe(2);
  await asked.stop();
});

test('a server that shuts down is not ready, but serves until its delay is over', async () => {
  const leaving = new ApiServer({
    svcVersion: '2.22.0',
    log: pino({ level: 'silent' }),
    metrics: new Registry(),
    http: { host: '127.0.0.1', port: 0 },
  });
  const { port } = await leaving.listen();
  leaving.serve({
    registry: noModels,
    store: { ping: () => Promise.resolve() },
    authenticator: { authenticateRequest: () => Promise.resolve(undefined) },
    authorizer: { authorize: () => Promise.resolve({ allowed: false, reason: '' }) },
  });
  const statusOf = async (path: string): Promise<number> => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  expect(await statusOf('/readyz')).toBe(200);
  const stopped = leaving.stop({ delayMs: 300 });
  expect([await statusOf('/readyz'), await statusOf('/livez'), await statusOf('/version')]).toEqual([503, 200, 200]);
  await stopped;
  await expect(statusOf('/livez')).rejects.toThrow('fetch failed');
});

test('probes before the server serves log one line, without a stack', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const starting = new ApiServer({
    svcVersion: '2.22.0',
    log,
    metrics: new Registry(),
    http: { host: '127.0.0.1', port: 0 },
  });
  const { port } = await starting.listen();
  for (let i = 0; i < 3; i += 1) expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503);
  await starting.stop();
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({
    level: 40,
    probe: 'readyz',
    check: 'start',
    msg: 'health check failed: the server is starting',
  });
  expect(lines[0]).not.toContain('stack');
});
