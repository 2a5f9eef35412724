import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { readBody } from '../request/read-body.ts';
import type { Filter, Handler } from '../request/request-context.ts';
import { sendJson } from '../answer/respond.ts';
import { deferred, startTestServer, type TestHttpServer } from '../server/start-test-server.ts';
import { withRequestId } from './with-request-id.ts';
import { withStatus } from './with-status.ts';
import { withTimeout } from './with-timeout.ts';

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

describe('withTimeout', () => {
  const filters = [withTimeout({ timeoutMs: 30 })];

  test('answers 504 once, and stops the work', async () => {
    const ended = deferred();
    const { send, logs } = await start(filters, async (context) => {
      await once(context.signal, 'abort');
      await sendJson(context, 200, '{"late":true}');
      ended.open();
      throw new Error('late');
    });
    const { status, headers, body } = await send({ path: posts });
    expect([status, headers['retry-after'], (JSON.parse(body.toString()) as { reason: string }).reason]).toEqual([
      504,
      '1',
      'Timeout',
    ]);
    await ended.opened;
    await started[0]!.server.close({ drainTimeoutMs: 1000 });
    expect(logs.filter((line) => Number(line['level']) >= 40)).toEqual([]);
  });

  test('does not affect watches and answers that have begun', async () => {
    const { send } = await start(filters, async (context) => {
      if (context.info.verb !== 'watch') context.response.write('begin ');
      await new Promise((resolve) => {
        setTimeout(resolve, 60);
      });
      expect(context.signal.aborted).toBe(false);
      context.response.end('end');
    });
    expect((await send({ path: `${posts}?watch=1` })).body.toString()).toBe('end');
    expect((await send({ path: posts })).body.toString()).toBe('begin end');
  });

  test('is the client’s mistake if its body does not arrive', async () => {
    const { raw } = await start(filters, async (context) => void (await readBody(context)));
    expect(await raw('POST /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\na')).toMatch(
      /^HTTP\/1.1 408 /,
    );
  });
});
