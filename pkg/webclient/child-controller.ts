import { listenUntil } from './listen-until.ts';

/** A controller of its own that aborts with the signal, too. Abort it at the end, so that the signal forgets it. */
export function childController(signal: AbortSignal | undefined): AbortController {
  const child = new AbortController();
  const abort = (): void => child.abort(signal?.reason);
  if (signal?.aborted === true) abort();
  listenUntil(child.signal, signal ?? {}, 'abort', abort);
  return child;
}
