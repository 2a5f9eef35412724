/** Calls `act` once the browser has nothing better to do, unless the returned function is called before. */
export function whenIdle(act: () => void): () => void {
  // Safari has no such callback.
  const {
    requestIdleCallback: request = (wait: () => void) => setTimeout(wait, 200),
    cancelIdleCallback: cancel = clearTimeout,
  } = globalThis as Partial<Pick<typeof globalThis, 'requestIdleCallback' | 'cancelIdleCallback'>>;
  const waiting = request(act);
  return () => cancel(waiting as number);
}
