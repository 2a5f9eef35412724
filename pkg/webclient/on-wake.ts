interface Page extends Partial<Pick<EventTarget, 'addEventListener'>> {
  document?: EventTarget & { hidden: boolean };
}

/**
 * Calls `wake` when the page is seen again, comes back from the browser's cache, or is online again, until the signal
 * aborts: it may have slept, with its timers and its connections. Node.js has no such events.
 */
export function onWake(wake: () => void, signal: AbortSignal): void {
  const page = globalThis as Page;
  const { document } = page;
  const wakeIfSeen = (): void => {
    if (document?.hidden !== true) wake();
  };
  for (const type of ['online', 'pageshow']) page.addEventListener?.(type, wakeIfSeen, { signal });
  document?.addEventListener('visibilitychange', wakeIfSeen, { signal });
}
