import { expect, test } from '@jest/globals';
import { startAccessTest } from './accesstest/start-access-test.ts';
import { jsonAnswer } from './http/operation.ts';

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
    end();
    expect((await first).status).toBe(200);
  } finally {
    end();
    await server.stop();
  }
});
