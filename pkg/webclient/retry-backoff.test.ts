import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { RetryBackoff } from './retry-backoff.ts';

const page = globalThis as { addEventListener?: unknown; removeEventListener?: unknown };
let events: EventTarget;
beforeEach(() => {
  jest.useFakeTimers();
  events = new EventTarget();
  page.addEventListener = events.addEventListener.bind(events);
  page.removeEventListener = events.removeEventListener.bind(events);
});
afterEach(() => {
  jest.useRealTimers();
  delete page.addEventListener;
  delete page.removeEventListener;
});

/** Whether the wait has ended after this time. */
async function endsWithin(wait: Promise<void>, ms: number): Promise<boolean> {
  let isOver = false;
  void wait.then(() => (isOver = true));
  await jest.advanceTimersByTimeAsync(ms);
  return isOver;
}

test('each wait is longer, up to 15 s; a success begins again', async () => {
  const backoff = new RetryBackoff();
  const { signal } = new AbortController();
  for (const most of [200, 400, 800, 1600, 3200, 6400, 12_800, 15_000, 15_000]) {
    const wait = backoff.wait(signal);
    expect(await endsWithin(wait, most / 2 - 1)).toBe(false);
    expect(await endsWithin(wait, most / 2 + 1)).toBe(true);
  }
  backoff.reset();
  expect(await endsWithin(backoff.wait(signal), 200)).toBe(true);
});

test('a wait ends when the browser is online again', async () => {
  const wait = new RetryBackoff().wait(new AbortController().signal);
  events.dispatchEvent(new Event('online'));
  expect(await endsWithin(wait, 0)).toBe(true);
});

test('a wait ends when its signal aborts, or has aborted', async () => {
  const end = new AbortController();
  const wait = new RetryBackoff().wait(end.signal);
  end.abort();
  expect(await endsWithin(wait, 0)).toBe(true);
  expect(await endsWithin(new RetryBackoff().wait(end.signal), 0)).toBe(true);
});
