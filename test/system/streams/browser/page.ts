import { postType } from '../../../../pkg/testenv/post-model.ts';
import { connect, follow, live } from '../../../../pkg/webclient/index.ts';
import { ownSource } from '../../../../pkg/webclient/live/selection-source.ts';
import { sharedWorkerFeeds, type FeedWorker } from '../../../../pkg/webclient/worker/index.ts';
import { followAll } from '../follow-all.ts';
import { FollowedLists, type PageReport, type Selection } from '../followed-lists.ts';

/** What a page does, as its address says. */
export interface PageTask {
  selections: Selection[];
  /** Without one it follows by the worker. */
  token?: string;
  /** Only every event of these labels after this revision. */
  observed?: { labels: Record<string, string>; since: string };
}

/** What the test calls. */
export interface TestPage {
  /** Of the page that observes. */
  followed(): string[];
  /** Has the browser's cache kept it? */
  wasRestored(): boolean;
  report(): PageReport;
  states(): string[];
  visitOther(run: number): void;
  noteStale(mayLoad: boolean): void;
  staleAt(): number | undefined;
}

const scope = globalThis as unknown as {
  location: { search: string };
  SharedWorker: new (url: string, options: { type: 'module' }) => FeedWorker;
  addEventListener(type: 'pageshow', listener: (event: { persisted: boolean }) => void): void;
  page: TestPage;
};
const { selections, token, observed } = JSON.parse(decodeURIComponent(scope.location.search.slice(1))) as PageTask;

async function start(): Promise<void> {
  const feeds = sharedWorkerFeeds(() => new scope.SharedWorker('/worker.js', { type: 'module' }));
  const server = token === undefined ? connect({ feeds }) : connect({ credential: token });
  if (token === undefined) await server.currentSession();
  const posts = server.resource(postType);
  const followed: string[] = [];
  if (observed !== undefined)
    void followAll({
      client: { ownSource },
      posts,
      ...observed,
      signal: new AbortController().signal,
      pause: () => new Promise((resolve) => setTimeout(resolve, 200)),
      onTexts: (texts) => followed.push(...texts),
    });
  const lists = observed === undefined ? new FollowedLists({ live, follow }, posts, selections) : undefined;
  let staleAt = (): number | undefined => undefined;
  let wasRestored = false;
  scope.addEventListener('pageshow', ({ persisted }) => (wasRestored ||= persisted));
  scope.page = {
    followed: () => followed,
    wasRestored: () => wasRestored,
    report: () => lists!.report,
    states: () => lists!.states,
    visitOther: (run) => lists!.visitOther(run),
    noteStale: (mayLoad) => void (staleAt = lists!.noteStale(mayLoad)),
    staleAt: () => staleAt(),
  };
}

void start();
