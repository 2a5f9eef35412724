import { afterEach, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { fieldError, newInvalid, newTooManyRequests, newUnauthorized, StatusError } from '#pkg/apimachinery/index';
import type { Filter, Handler } from '../request/request-context.ts';
import { sendJson } from '../answer/respond.ts';
import { startTestServer, type TestHttpServer } from '../server/start-test-server.ts';
import { withRequestId } from './with-request-id.ts';
import { withStatus } from './with-status.ts';

let started: TestHttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.map(({ server }) => server.close({ drainTimeoutMs: 0 })));
  started = [];
});

const ok: Handler = (context) => sendJson(context, 200, '{"ok":true}');
const posts = '/apis/g.io/v1/posts';

/** Starts a server with the given filters inside `withStatus`. */
async function start(filters: readonly Filter[], handler: Handler = ok): Promise<TestHttpServer> {
  const server = await startTestServer(handler, { filters: () => [withRequestId(), withStatus(), ...filters] });
  started.push(server);
  return server;
}

function throwing(error: unknown): Handler {
  return async () => {
    throw error;
  };
}

describe('withStatus', () => {
  const invalid = newInvalid({ group: 'g.io', kind: 'Post' }, 'x', [fieldError.required('spec.title')]);

  test('answers a StatusError as Kubernetes does', async () => {
    const { send } = await start([], throwing(invalid));
    const { status, headers, body } = await send({ path: posts });
    expect([status, headers['content-type']]).toEqual([422, 'application/json']);
    expect(JSON.parse(body.toString())).toEqual(invalid.toStatus());
  });

  test.each([['application/yaml'], ['application/json;q=0.5, application/yaml']])(
    'answers in YAML to %s',
    async (accept) => {
      const { send } = await start([], throwing(invalid));
      const { headers, body } = await send({ path: posts, headers: { accept } });
      expect(headers['content-type']).toBe('application/yaml');
      expect(parse(body.toString())).toEqual(invalid.toStatus());
    },
  );

  test('answers in the form of RFC 9457 if accepted', async () => {
    const { send } = await start([], throwing(invalid));
    const { headers, body } = await send({ path: `${posts}?token=x`, headers: { accept: 'application/problem+json' } });
    expect(headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(body.toString())).toEqual({
      type: 'about:blank',
      title: 'Unprocessable Entity',
      status: 422,
      detail: 'Post.g.io "x" is invalid: spec.title: Required value',
      instance: posts,
      code: 'Invalid',
      errors: [{ field: 'spec.title', detail: 'Required value', code: 'FieldValueRequired' }],
      requestId: headers['x-request-id'],
    });
  });

  test.each([
    ['application/json;as=Table;v=v1;g=meta.k8s.io', 'an error is never a Table'],
    ['application/vnd.kubernetes.protobuf', 'nor protobuf'],
    ['text/event-stream', 'nor an event'],
    ['text/html,*/*;q=0.8', 'nor a page'],
  ])('answers JSON to %s: %s', async (accept) => {
    const { send } = await start([], throwing(invalid));
    expect((await send({ path: posts, headers: { accept } })).headers['content-type']).toBe('application/json');
  });

  test.each([
    ['a 401 names the scheme', newUnauthorized(), 'www-authenticate', 'Bearer realm="svc"'],
    ['a 429 has Retry-After', newTooManyRequests('slow down', 7), 'retry-after', '7'],
  ])('%s', async (_reason, error, name, value) => {
    const { send } = await start([], throwing(error));
    expect((await send({})).headers[name]).toBe(value);
  });

  test.each([
    [new Error('secret')],
    [new TypeError('secret')],
    ['secret'],
    [undefined],
    [{ code: 200, message: 'secret' }],
  ])('%j is a 500 without details', async (error) => {
    const { send, logs } = await start([], throwing(error));
    const { status, body } = await send({});
    expect(status).toBe(500);
    expect(body.toString()).not.toContain('secret');
    expect(logs).toContainEqual(expect.objectContaining({ level: 50, msg: 'internal error' }));
  });

  test('removes the headers of the failed answer, and has no body for HEAD', async () => {
    const { send } = await start([], async ({ response }) => {
      response.setHeader('ETag', '"1"').setHeader('Allow', 'GET');
      throw new StatusError(405, 'MethodNotAllowed', 'no');
    });
    const { status, headers, body } = await send({ method: 'HEAD' });
    expect([status, headers['etag'], headers['allow'], body.length]).toEqual([405, undefined, 'GET', 0]);
  });

  test('destroys an answer that failed midway', async () => {
    const { send } = await start([], async ({ response }) => {
      response.writeHead(200).write('half');
      throw new Error('secret');
    });
    await expect(send({})).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  });
});
