import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { FetchEventStream } from './event-stream.ts';

const page = globalThis as { addEventListener?: unknown; document?: { hidden: boolean } };
let window: EventTarget;
beforeEach(() => {
  jest.useFakeTimers();
  window = new EventTarget();
  page.addEventListener = window.addEventListener.bind(window);
  page.document = { hidden: true };
});
afterEach(() => {
  jest.useRealTimers();
  delete page.addEventListener;
  delete page.document;
});

test('a stream that was silent while the page slept ends when the page is seen, without its timer', () => {
  const limit = new AbortController();
  const stream = new FetchEventStream(new ReadableStream<Uint8Array>(), limit, 25_000);
  void stream.batches().next();
  /** The clock goes on, the timers do not. */
  const show = (hidden: boolean, sleptMs: number): void => {
    jest.setSystemTime(Date.now() + sleptMs);
    page.document!.hidden = hidden;
    window.dispatchEvent(new Event('visibilitychange'));
  };
  show(false, 5000);
  show(true, 60_000);
  expect([stream.wasSilent, limit.signal.aborted]).toEqual([false, false]);
  show(false, 0);
  expect([stream.wasSilent, limit.signal.aborted]).toEqual([true, true]);
});

test('a stream whose answer does not come is silent, too', async () => {
  const limit = new AbortController();
  const never = new Promise<ReadableStream<Uint8Array>>((_, reject) => {
    limit.signal.addEventListener('abort', () => reject(limit.signal.reason as Error));
  });
  const stream = new FetchEventStream(never, limit, 25_000);
  const first = stream.batches().next();
  await jest.advanceTimersByTimeAsync(24_999);
  expect(limit.signal.aborted).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  expect(await first).toEqual({ done: true, value: undefined });
  expect(stream.wasSilent).toBe(true);
});
