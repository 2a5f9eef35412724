import type { FeedProvider } from '@svc/client';
import { sharedWorkerFeeds } from '@svc/client/worker';
// oxlint-disable-next-line import/default -- Vite makes it: the address of the script.
import scriptUrl from './feeds-worker.ts?sharedworker&url';

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(input: string): string };
}

/**
 * One worker has the stream of all tabs. Its script's name has a hash of its content, so that a page never gets a worker of
 * another build.
 */
export const feeds: FeedProvider = sharedWorkerFeeds(() => {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy('svc-console-worker', { createScriptURL: () => scriptUrl });
  return new SharedWorker(policy?.createScriptURL(scriptUrl) ?? scriptUrl);
});
