import { afterEach, expect, jest, test } from '@jest/globals';
import { newServiceUnavailable, type Client } from '#pkg/apimachinery/index';
import type { Log } from '../log.ts';
import { PositionStore } from './position-store.ts';
import { Resume } from './resume.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const unasked = (): Promise<never> => Promise.reject(new Error('not asked'));

function resumeOn(client: Partial<Pick<Client, 'get' | 'patch'>>): Resume {
  const whole = { get: unasked, create: unasked, patch: unasked, ...client } as unknown as Client;
  const store = new PositionStore({ client: whole, namespace: 'svc-system', manager: 'm', controller: 'c' });
  return new Resume({ watches: [], informers: [], client: whole, store, options: { intervalMs: 10 }, controller: 'c', log: silent });
}

afterEach(() => void jest.useRealTimers());

test('writes of the position do not pile up behind one that is slow', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance', 'queueMicrotask'] });
  let release = (): void => undefined;
  const isFree = new Promise<void>((resolve) => (release = resolve));
  let writes = 0;
  const patch = async (): Promise<never> => {
    writes += 1;
    // There is always something new to write.
    resume.ledger.ask(`/${writes}`);
    await isFree;
    return undefined as never;
  };
  const resume = resumeOn({ patch });
  resume.begin();
  jest.advanceTimersByTime(200);
  release();
  await resume.end();
  expect(writes).toBe(2);
});

test('a stop does not wait for a position that cannot be read', async () => {
  let given: AbortSignal | undefined;
  const get = (_type: unknown, _key: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<never> => {
    given = signal;
    return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(newServiceUnavailable('given up'))));
  };
  const stopping = new AbortController();
  const resume = resumeOn({ get });
  const started = resume.sources[0]!.start(() => undefined, stopping.signal);
  stopping.abort();
  expect(given?.aborted).toBe(true);
  expect(await started).toBe(false);
});
