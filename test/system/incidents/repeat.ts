import type { IncidentSite } from './site/incident-site.ts';

/** Repeats `work`, which must not fail, until the returned function is called, which waits for its last round; the site ends it, too. */
export function repeat(site: IncidentSite, work: (signal: AbortSignal) => Promise<unknown>): () => Promise<void> {
  const over = new AbortController();
  const working = (async () => {
    while (!over.signal.aborted) await work(over.signal);
  })();
  working.catch((error: unknown) => {
    if (!over.signal.aborted) site.failure = error;
  });
  const end = async (): Promise<void> => {
    over.abort();
    await working;
  };
  site.onRemove(() => end().catch(() => undefined));
  return end;
}
