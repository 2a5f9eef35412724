/**
 * Calls `act` for each event of this type until the signal aborts. The option `signal` of `addEventListener` does not do
 * here: Node.js 20 keeps what such listeners hold, and collects what would remove them.
 */
export function listenUntil(signal: AbortSignal, target: Partial<EventTarget>, type: string, act: () => void): void {
  if (signal.aborted) return;
  target.addEventListener?.(type, act);
  signal.addEventListener('abort', () => target.removeEventListener?.(type, act));
}
