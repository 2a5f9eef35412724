/**
 * Resolves as soon as the page is visible, with a signal that aborts when it has been hidden for a while, or when
 * `signal` aborts.
 */
export async function whenVisible(signal: AbortSignal): Promise<AbortSignal> {
  while (document.hidden && !signal.aborted) await nextChange(signal);
  const end = new AbortController();
  const abort = (): void => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', check);
    end.abort();
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const check = (): void => {
    clearTimeout(timer);
    // Who looks at another page for a moment keeps the stream.
    if (document.hidden) timer = setTimeout(abort, hiddenMs);
  };
  document.addEventListener('visibilitychange', check);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { signal: end.signal });
  return end.signal;
}

const hiddenMs = 10_000;

function nextChange(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = new AbortController();
    const done = (): void => {
      end.abort();
      resolve();
    };
    document.addEventListener('visibilitychange', done, { signal: end.signal });
    signal.addEventListener('abort', done, { signal: end.signal });
  });
}
