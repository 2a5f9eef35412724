import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { ByteBudget, TrustedProxies } from '#pkg/http/index';
import { AccessServer } from './access-server.ts';
import { startAccessTest } from './accesstest/start-access-test.ts';
import { jsonAnswer } from './operations/operation.ts';

test('a request beyond the limit in flight is refused with Retry-After, in the format of this service, and probes are answered', async () => {
  let isUnderWay: () => void = () => undefined;
  const underWay = new Promise<void>((resolve) => (isUnderWay = resolve));
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const server = await startAccessTest({
    maxInFlight: 1,
    operations: () => [
      {
        method: 'GET',
        path: '/slow/',
        operationId: 'slow',
        access: 'open',
        handle: async () => {
          isUnderWay();
          await ended;
          return jsonAnswer(200, {});
        },
      },
    ],
  });
  try {
    const first = server.send('GET', '/slow/');
    await underWay;
    const second = await server.send('GET', '/slow/');
    expect(second).toMatchObject({ status: 429, json: { code: 'throttled' } });
    expect(second.headers['retry-after']).toMatch(/^\d+$/);
    expect((await server.send('GET', '/readyz')).status).toBe(200);
    expect(await server.metrics.getSingleMetricAsString('svc_requests_refused_total')).toContain('{reason="total"} 1');
    end();
    expect((await first).status).toBe(200);
  } finally {
    end();
    await server.stop();
  }
  expect(server.logs).toContainEqual(expect.objectContaining({ level: 40, refused: { total: 1 } }));
});

test('a large body without room for it is refused with Retry-After, and counted as refused', async () => {
  const byteBudget = new ByteBudget({ total: 1_000_000, parsed: 10_000_000, maxWaitMs: 0 });
  const server = await startAccessTest({
    byteBudget,
    operations: () => [
      {
        method: 'POST',
        path: '/large/',
        operationId: 'large',
        access: 'user',
        handle: async ({ request }) => jsonAnswer(200, { size: (await request.body()).length }),
      },
    ],
  });
  try {
    const as = await server.addUser({ username: 'mia' });
    const send = (): ReturnType<typeof server.send> =>
      server.send('POST', '/large/', {
        as,
        body: 'x'.repeat(900_000),
        headers: { 'content-type': 'application/json' },
      });
    const held = { owner: 'user:somebody', bytes: 0 };
    byteBudget.transfer.add(held, 1_000_000);
    expect(await send()).toMatchObject({ status: 429, json: { code: 'throttled' } });
    expect(await server.metrics.getSingleMetricAsString('svc_requests_refused_total')).toContain('{reason="bytes"} 1');
    expect(await server.metrics.getSingleMetricAsString('svc_http_bytes_in_flight')).toContain('{use="moved"} 1000000');
    byteBudget.transfer.give(held, held.bytes);
    expect(await send()).toMatchObject({ status: 200, json: { size: 900_000 } });
  } finally {
    await server.stop();
  }
});

test.each([
  ['no other fault', '/', {}, 401, 'authentication_failed'],
  ['a URL that is too long', `/?${'x'.repeat(70_000)}`, {}, 414, 'uri_too_long'],
  ['an unknown transfer coding', '/', { 'Transfer-Encoding': 'gzip, chunked' }, 400, 'parse_error'],
])(
  'two Authorization headers are a wrong credential, and hide no fault: %s',
  async (_, path, headers, status, code) => {
    const server = await startAccessTest({ operations: () => [] });
    try {
      const Authorization = ['Bearer a', 'Bearer b'];
      expect(await server.send('GET', path, { headers: { ...headers, Authorization } })).toMatchObject({
        status,
        json: { code },
      });
    } finally {
      await server.stop();
    }
  },
);

test('a form is parsed once, for its CSRF token and for its fields', async () => {
  const server = await startAccessTest({
    operations: () => [
      {
        method: 'POST',
        path: '/form/',
        operationId: 'form',
        access: 'open',
        handle: async ({ request }) => {
          const fields = await request.fields();
          return jsonAnswer(200, { fields, isSame: fields === (await request.fields()) });
        },
      },
    ],
  });
  try {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await server.send('POST', '/form/', { body: 'a=1&b=2', headers })).json).toEqual({
      fields: { a: '1', b: '2' },
      isSame: true,
    });
  } finally {
    await server.stop();
  }
});

test('a failure of the database is 503 with its cause, without details of the failure', async () => {
  const full = Object.assign(new Error('could not extend file "base/5/16859" for INSERT INTO secrets'), {
    code: '53100',
    severity: 'ERROR',
  });
  const server = await startAccessTest({
    operations: () => [
      { method: 'GET', path: '/full/', operationId: 'full', access: 'open', handle: () => Promise.reject(full) },
    ],
  });
  try {
    const { status, json, headers } = await server.send('GET', '/full/');
    expect({ status, json, retryAfter: headers['retry-after'] }).toEqual({
      status: 503,
      json: {
        detail: 'The service cannot answer at the moment: the disk of the database is full.',
        code: 'unavailable',
      },
      retryAfter: '1',
    });
  } finally {
    await server.stop();
  }
});

test('probes before the server is ready log one line, without a stack', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const server = new AccessServer({
    svcVersion: 'test',
    log,
    metrics: new Registry(),
    proxies: new TrustedProxies([]),
    host: '127.0.0.1',
    port: 0,
  });
  const { port } = await server.listen();
  for (let i = 0; i < 3; i += 1) expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503);
  await server.stop();
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({
    level: 40,
    probe: 'readyz',
    check: 'start',
    msg: 'health check failed: the server is starting',
  });
  expect(lines[0]).not.toContain('stack');
});

test.each([
  ['/livez', 200],
  ['/version', 200],
  ['/readyz', 503],
  ['/healthz', 503],
  ['/api/v1/users/profile/', 429],
])('a connection beyond the limit may ask for the health of the server: %s is %d', async (path, status) => {
  const server = new AccessServer({
    svcVersion: 'test',
    log: pino({ level: 'silent' }),
    metrics: new Registry(),
    proxies: new TrustedProxies([]),
    host: '127.0.0.1',
    port: 0,
    limits: { connections: 0 },
  });
  const { port } = await server.listen();
  expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(status);
  await server.stop();
});
