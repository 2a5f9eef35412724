/**
 * `@svc/client/worker`: one stream and one copy of the objects for all tabs of an origin, in a SharedWorker.
 * `sharedWorkerFeeds` is for pages, `serveTabs` is the script of the worker.
 */
export type { FeedPort } from './feed-port.ts';
export type { FeedWorker } from './page-tab.ts';
export { serveTabs } from './serve-tabs.ts';
export { sharedWorkerFeeds } from './shared-worker-feeds.ts';
