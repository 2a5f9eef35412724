import { afterEach, describe, expect, test } from '@jest/globals';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import type { Filter, Handler } from '../request/request-context.ts';
import { sendJson } from '../answer/respond.ts';
import { startTestServer, type TestHttpServer } from '../server/start-test-server.ts';
import { withAuthentication } from './with-authentication.ts';
import { withCors } from './with-cors.ts';
import { withLogging } from './with-logging.ts';
import { withMetrics } from './with-metrics.ts';
import { withRequestId } from './with-request-id.ts';
import { withSecurityHeaders } from './with-security-headers.ts';
import { withStatus } from './with-status.ts';

let started: TestHttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.map(({ server }) => server.close({ drainTimeoutMs: 0 })));
  started = [];
});

const ok: Handler = (context) => sendJson(context, 200, '{"ok":true}');
const posts = '/apis/g.io/v1/posts';

/** Starts a server with the given filters inside `withStatus`. */
async function start(
  filters: readonly Filter[],
  handler: Handler = ok,
  outer: (log: Logger) => Filter[] = () => [],
): Promise<TestHttpServer> {
  const server = await startTestServer(handler, {
    filters: (log) => [withRequestId(), ...outer(log), withStatus(), ...filters],
  });
  started.push(server);
  return server;
}

function throwing(error: unknown): Handler {
  return async () => {
    throw error;
  };
}

describe('withCors', () => {
  const origin = 'https://app.example.com';
  const filters = [
    withCors({ allowedOrigins: [origin] }),
    withAuthentication({ authenticateRequest: async () => undefined }),
  ];

  test('answers the preflight of a listed origin', async () => {
    const { send } = await start(filters);
    const { status, headers } = await send({
      method: 'OPTIONS',
      path: posts,
      headers: { origin, 'access-control-request-method': 'PUT' },
    });
    expect(status).toBe(204);
    expect(headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      vary: 'Origin',
    });
    // For writes of a client with a session.
    expect(headers['access-control-allow-headers']).toContain('X-CSRFToken');
  });

  test.each([['https://app.example.com.evil.io'], ['http://app.example.com'], ['null'], ['*'], [undefined]])(
    'does nothing for %s',
    async (other) => {
      const { send } = await start(filters);
      const { status, headers } = await send({
        method: 'OPTIONS',
        path: posts,
        headers: { ...(other === undefined ? {} : { origin: other }), 'access-control-request-method': 'PUT' },
      });
      expect([status, headers['access-control-allow-origin'], headers.vary]).toEqual([401, undefined, 'Origin']);
    },
  );

  test('lets a listed origin read a failure too', async () => {
    const { send } = await start(filters);
    expect((await send({ path: posts, headers: { origin } })).headers).toMatchObject({
      'access-control-allow-origin': origin,
    });
  });

  test.each([['*'], ['https://app.example.com/'], ['app.example.com'], ['null']])('%s is not an origin', (text) => {
    expect(() => withCors({ allowedOrigins: [text] })).toThrow('not an origin');
  });
});

test('withSecurityHeaders', async () => {
  const { send } = await start([withSecurityHeaders()]);
  expect((await send({})).headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
  });
});

test('withLogging writes one line, with no secret in it', async () => {
  const { send, logs } = await start(
    [],
    (context) => (context.info.name === 'bad' ? throwing(new Error('bug'))(context) : ok(context)),
    (log) => [withLogging(log, { slowMs: Infinity })],
  );
  const { headers } = await send({ path: `${posts}?token=s3cret`, headers: { authorization: 'Bearer s3cret' } });
  await send({ path: `${posts}/bad` });
  await send({ path: '//' });
  const lines = logs.filter((line) => line['msg'] === 'request');
  expect(lines).toEqual([
    expect.objectContaining({
      level: 20,
      method: 'GET',
      path: posts,
      status: 200,
      user: 'system:anonymous',
      clientAddress: '127.0.0.1',
      requestId: headers['x-request-id'],
      ms: expect.any(Number),
    }),
    expect.objectContaining({ level: 50, status: 500 }),
    expect.objectContaining({ level: 30, status: 400 }),
  ]);
  expect(Number(lines[0]!['bytes'])).toBeGreaterThan(100);
  expect(JSON.stringify(logs)).not.toContain('s3cret');
});

test('withLogging logs the trace id, warns about a slow request, and logs its start at trace level', async () => {
  const { send, logs } = await start([], ok, (log) => {
    log.level = 'trace';
    return [withLogging(log, { slowMs: 0 })];
  });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await send({ path: posts, headers: { traceparent, 'x-request-id': 'mine' } });
  expect(logs).toMatchObject([
    { level: 10, msg: 'request begins', requestId: 'mine', traceId: '0af7651916cd43dd8448eb211c80319c', path: posts },
    { level: 40, msg: 'slow request', requestId: 'mine', traceId: '0af7651916cd43dd8448eb211c80319c', status: 200 },
  ]);
});

test('withLogging does not treat a 429 or a waiting request as slow', async () => {
  const handler: Handler = async (context) => {
    if (context.info.name === 'refused') await sendJson(context, 429, '{}');
    else {
      context.waitedMs = 1e9;
      await sendJson(context, 200, '{}');
    }
  };
  const { send, logs } = await start([], handler, (log) => [withLogging(log, { slowMs: 0 })]);
  await send({ path: `${posts}/refused` });
  await send({ path: posts });
  expect(logs).toMatchObject([
    { level: 20, msg: 'request', status: 429 },
    { level: 20, msg: 'request', status: 200 },
  ]);
});

test('withMetrics has no label values that a client can create', async () => {
  const registry = new Registry();
  const { send, server } = await start([], ok, () => [withMetrics({ registry })]);
  await send({ path: posts });
  await send({ path: posts });
  await send({ path: `${posts}?watch=1` });
  await send({ path: '/apis/made.up/v1/posts', method: 'PROPFIND' });
  await send({ path: '/made-up' });
  await send({ path: `${posts}/made-up`, method: 'PUT', body: '12345' });
  await server.close({ drainTimeoutMs: 1000 });
  const text = await registry.metrics();
  const count = (labels: string): string => `http_server_request_duration_seconds_count{${labels}}`;
  const collection = 'http_route="/apis/{group}/{version}/{resource}",url_scheme="http"';
  expect(text).toContain(
    `${count(`http_request_method="GET",http_response_status_code="200",${collection},verb="list"`)} 2`,
  );
  expect(text).toContain(
    `${count(`http_request_method="GET",http_response_status_code="200",${collection},verb="watch"`)} 1`,
  );
  expect(text).toContain(
    `${count(`http_request_method="_OTHER",http_response_status_code="200",${collection},verb="other"`)} 1`,
  );
  expect(text).toContain(
    `${count('http_request_method="GET",http_response_status_code="200",http_route="",url_scheme="http",verb="other"')} 1`,
  );
  expect(text).toMatch(/http_server_request_body_size_bytes_sum\{http_request_method="PUT",.*verb="update"\} 5/);
  expect(text).toMatch(/http_server_response_body_size_bytes_sum\{http_request_method="GET",.*verb="list"\} 22/);
  expect(text).toContain('http_server_active_requests{http_request_method="GET",url_scheme="http"} 0');
  expect(text).not.toContain('made');
});
