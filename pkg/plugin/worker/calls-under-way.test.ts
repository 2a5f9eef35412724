import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { waitMs, pollUntil } from '../../testenv/faults/poll-until.ts';
import type { EndpointCall } from '../endpoint/endpoint-call.ts';
import { CallsUnderWay } from './calls-under-way.ts';
import type { HostToWorker } from './control-message.ts';

const call = {
  plugin: 'test',
  operationId: 'a',
  params: {},
  query: '',
  body: new Uint8Array(3 << 20),
  user: { name: 'a', uid: '', groups: [] },
  requestId: 'r',
} as unknown as EndpointCall;

test('handlers that never end do not block the plugin for ever', async () => {
  const posted: HostToWorker[] = [];
  const calls = new CallsUnderWay('test', (message) => posted.push(message), 20);
  const leaving = new AbortController();
  const given = Array.from({ length: 10 }, () => calls.begin(call, leaving.signal).catch((error: unknown) => error));
  leaving.abort();
  await Promise.all(given);
  await expect(calls.begin(call, new AbortController().signal)).rejects.toMatchObject({ code: 429 });
  await pollUntil(
    async () => {
      const abort = new AbortController();
      const next = calls.begin(call, abort.signal).catch((error: { code: number }) => error.code);
      await setImmediate();
      abort.abort();
      return (await next) !== 429;
    },
    waitMs(),
    'a place for another call',
  );
  expect(posted.filter(({ kind }) => kind === 'call')).toHaveLength(11);
  // A late result is ignored.
  calls.resolve(1, { status: 204, headers: {} });
});
