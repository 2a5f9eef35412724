import { afterEach, expect, jest, test } from '@jest/globals';
import type { Reader, Stored, Writer } from '#pkg/apimachinery/index';
import type { Log } from '../log.ts';
import { LeaderElector } from './leader-elector.ts';
import type { Lease } from './lease.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const year = 31_536_000;

afterEach(() => void jest.restoreAllMocks());

test('a lease with a duration of a year can be taken after ten minutes without a renewal', async () => {
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  let readCount = 0;
  let holder = 'thief';
  const metadata = {
    namespace: 'n',
    name: 'l',
    uid: 'u',
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
  const lease = (): Stored<Lease> => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata,
    spec: { holderIdentity: holder, leaseDurationSeconds: year, leaseTransitions: 3 },
  });
  const client = {
    get: async () => {
      readCount += 1;
      if (readCount === 5) now = 599_999;
      if (readCount === 10) now = 600_000;
      return lease();
    },
    update: async (_type: unknown, written: Lease) => {
      holder = written.spec!.holderIdentity!;
      return { ...lease(), spec: written.spec };
    },
  } as unknown as Reader & Writer;
  const elector = new LeaderElector({ client, log: silent, identity: 'me', namespace: 'n', lease: 'l', retryMs: 1 });
  const late = new AbortController();
  setTimeout(() => late.abort(), 5000).unref();
  let transitions = 0;
  await elector.run(async ({ fence }) => void (transitions = fence.transitions), late.signal);
  expect([readCount, transitions]).toEqual([10, 4]);
});
