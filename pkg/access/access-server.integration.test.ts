import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { ByteBudget, TrustedProxies } from '#pkg/http/index';
import { AccessServer } from './access-server.ts';
import { startAccessTest } from './accesstest/start-access-test.ts';
import { jsonAnswer } from './operations/operation.ts';

test('no more requests are under way than may be: one more is told to come again, in the words of this service, and probes are answered', async () => {
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

test('a large body for which there is no room is told to come again, and counted as refused', async () => {
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

test('what fails because of the database is 503 and says why, without a word of what it was', async () => {
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
])('a connection beyond the limit may ask how the server is: %s is %d', async (path, status) => {
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
