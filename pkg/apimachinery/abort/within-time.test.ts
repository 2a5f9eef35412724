import { getEventListeners } from 'node:events';
import { expect, test } from '@jest/globals';
import { newConflict } from '../status/status-error.ts';
import { untilAborted } from './abort-error.ts';
import { pause, withinTime } from './within-time.ts';

const longMs = 60_000;

test('a pause ends after its time or by its signal, and leaves no listener', async () => {
  const abort = new AbortController();
  await pause(1, abort.signal);
  const paused = pause(longMs, abort.signal);
  abort.abort();
  await paused;
  await pause(longMs, abort.signal);
  expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
});

test('work that ends in time returns its result, and leaves no listener', async () => {
  const { signal } = new AbortController();
  expect(await withinTime({ timeoutMs: longMs, signal }, () => Promise.resolve('done'))).toBe('done');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('work that takes too long throws the given error, or 504', async () => {
  const never = (limit: AbortSignal): Promise<never> => untilAborted(new Promise(() => undefined), limit);
  const late = new Error('too late');
  await expect(withinTime({ timeoutMs: 1, timeoutError: () => late }, never)).rejects.toBe(late);
  await expect(withinTime({ timeoutMs: 1 }, never)).rejects.toMatchObject({ code: 504, reason: 'Timeout' });
});

test('the caller’s signal ends the work and throws its reason', async () => {
  const reason = newConflict({ group: '', resource: 'posts' }, 'a', 'taken');
  const abort = new AbortController();
  const work = withinTime({ timeoutMs: longMs, signal: abort.signal }, async (limit) => {
    abort.abort(reason);
    limit.throwIfAborted();
  });
  await expect(work).rejects.toBe(reason);
});

test('an error of the work is thrown', async () => {
  const error = new Error('broken');
  await expect(withinTime({ timeoutMs: longMs }, () => Promise.reject(error))).rejects.toBe(error);
});
