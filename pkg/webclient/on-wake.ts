import { listenUntil } from './listen-until.ts';

interface Page extends Partial<EventTarget> {
  document?: { hidden: boolean };
}

/**
 * Calls `wake` when the page is seen again, comes back from the browser's cache, or is online again, until the signal
 * aborts: it may have slept, with its timers and its connections. Node.js has no such events.
 */
export function onWake(wake: () => void, signal: AbortSignal): void {
  const page = globalThis as Page;
  const wakeIfSeen = (): void => {
    if (!page.document?.hidden) wake();
  };
  for (const type of ['online', 'pageshow', 'visibilitychange']) listenUntil(signal, page, type, wakeIfSeen);
}
