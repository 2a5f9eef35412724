import { childController } from './child-controller.ts';

/** Resolves after the time. @throws the signal's reason, as soon as it aborts */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const end = childController(signal);
  const timer = setTimeout(() => end.abort(), ms);
  if (!end.signal.aborted) await new Promise((resolve) => end.signal.addEventListener('abort', resolve));
  clearTimeout(timer);
  signal?.throwIfAborted();
}
