import { afterEach, beforeEach, jest } from '@jest/globals';

/** Each test of the file runs in a page whose time it moves itself. Returns the page's window, for its events. */
export function useFakePage(): () => EventTarget {
  const page = globalThis as { addEventListener?: unknown };
  let window: EventTarget;
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
    window = new EventTarget();
    page.addEventListener = window.addEventListener.bind(window);
  });
  afterEach(() => {
    jest.useRealTimers();
    delete page.addEventListener;
  });
  return () => window;
}
