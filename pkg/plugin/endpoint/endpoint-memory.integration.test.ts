import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { ByteBudget, chain, expressHandler, HttpServer, withRequestId, withStatus } from '#pkg/http/index';
import { endpoint, startTestEndpoints, until, type TestEndpointEnv } from './start-test-endpoints.ts';

const open = '/apis/api.blog.example.com/v1/posts';
const closed = '/apis/console.api.blog.example.com/v1/drafts';
const megabyte = 2 ** 20;

let test1: TestEndpointEnv;
beforeAll(async () => {
  test1 = await startTestEndpoints();
  test1.host.handlers.set('blog.listPosts', () => Promise.resolve({ status: 200, headers: {}, body: '[]' }));
  const endpoints = [
    endpoint({}),
    endpoint({ audience: 'console', path: '/drafts', method: 'POST', operationId: 'draft', body: { type: 'string' } }),
  ];
  await test1.set('blog', { phase: 'Started', endpoints, host: { url: test1.hostUrl } });
  await until(async () => (await test1.ask(open)).status === 200);
});
afterAll(() => test1.stop());

test('a call starts when there is memory for its response: as much as the last one of its operation took, or an estimate for the first', async () => {
  const budget = new ByteBudget({ total: 8 * megabyte, parsed: 8 * megabyte, maxWaitMs: 0 });
  const server = new HttpServer({
    handler: chain([withRequestId(), withStatus()], expressHandler(test1.mounts[0]!.endpoints.groups)),
    log: pino({ level: 'silent' }),
    memory: { budget },
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const status = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}${open}`)).status;
  try {
    const held = { owner: 'user:other', bytes: 0 };
    budget.transfer.add(held, 7 * megabyte);
    test1.host.calls = [];
    // Its last answer was a few bytes.
    expect(await status()).toBe(200);
    test1.host.handlers.set('blog.listPosts', () =>
      Promise.resolve({ status: 200, headers: {}, body: JSON.stringify('x'.repeat(megabyte)) }),
    );
    expect(await status()).toBe(200);
    expect(await status()).toBe(429);
    expect(test1.host.calls).toHaveLength(2);
    budget.transfer.give(held, held.bytes);
    expect(await status()).toBe(200);
    await until(() => Promise.resolve(budget.transfer.used === 0));
  } finally {
    await server.close({ drainTimeoutMs: 1000 });
  }
});

test('memory of a forwarded call on the host is counted for its user', async () => {
  const { transfer } = test1.hostBudget;
  let name = '';
  let isOfUser = false;
  test1.host.handlers.set('blog.draft', ({ user }) => {
    name = user.name;
    isOfUser = transfer.used > 90_000 && transfer.isShareOf(`user:${name}`, 1);
    return Promise.resolve({ status: 200, headers: {}, body: '""' });
  });
  expect(
    (
      await test1.ask(closed, {
        method: 'POST',
        asAdmin: true,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify('x'.repeat(90_000)),
      })
    ).status,
  ).toBe(200);
  expect({ name, isOfUser }).toEqual({ name: expect.not.stringMatching('anonymous'), isOfUser: true });
  await until(() => Promise.resolve(transfer.used === 0));
});
