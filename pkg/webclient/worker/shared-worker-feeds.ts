import { newExpired, type AnyObject, type ObjectList } from '#pkg/apimachinery/index';
import type { ChangeSink, FeedProvider, FeedSelection, LiveSource } from '../live-source.ts';
import type { SentSelection } from './messages.ts';
import type { PageFeed } from './page-feed.ts';
import { PageTab, type FeedWorker } from './page-tab.ts';

/**
 * Lists of the browser's session that a SharedWorker keeps up to date for all tabs of this origin. `open` is called when
 * the first is needed. Where there are no such workers, or it is of another version, the page does it by itself.
 */
export function sharedWorkerFeeds(open: () => FeedWorker): FeedProvider {
  let tab: Promise<PageTab | undefined> | undefined;
  let isUnusable = false;
  const connect = async (): Promise<PageTab | undefined> => {
    if (isUnusable) return undefined;
    tab ??= PageTab.start(open, () => (tab = undefined));
    const started = await tab;
    isUnusable ||= started === undefined;
    return started;
  };
  return { sourceOf: (selection, own) => new WorkerSource({ connect, selection, own }) };
}

interface WorkerSourceParts<T extends AnyObject> {
  connect: () => Promise<PageTab | undefined>;
  selection: FeedSelection;
  own: LiveSource<T>;
}

class WorkerSource<T extends AnyObject> implements LiveSource<T> {
  readonly #parts: WorkerSourceParts<T>;
  #isOwn = false;
  /** Of the last list, until it is followed. */
  #feed: PageFeed<T> | undefined;

  constructor(parts: WorkerSourceParts<T>) {
    this.#parts = parts;
  }

  get maxSilenceMs(): number {
    return this.#parts.own.maxSilenceMs;
  }

  async list(signal: AbortSignal, onSilence: () => void): Promise<ObjectList<T>> {
    const { connect, selection, own } = this.#parts;
    const tab = await connect();
    signal.throwIfAborted();
    const { connection } = selection.resource;
    const whose = connection.browserSession;
    this.#isOwn = tab === undefined || whose === undefined;
    if (tab === undefined || whose === undefined) return own.list(signal, onSilence);
    // While the page asks whose session it has, it has none.
    const isCurrent = (): boolean => (connection.browserSession ?? whose).csrfToken === whose.csrfToken;
    this.#feed = tab.open<T>(whose, sent(selection), signal, isCurrent);
    return this.#feed.list;
  }

  /** The worker tells what comes after its list, once; it resumes by itself. */
  async follow(since: string, sink: ChangeSink<T>, signal: AbortSignal): Promise<void> {
    if (this.#isOwn) return this.#parts.own.follow(since, sink, signal);
    const feed = this.#feed;
    this.#feed = undefined;
    if (feed === undefined) throw newExpired('the worker has to be asked anew');
    return feed.follow(sink);
  }
}

function sent({ resource, query, hasObjects }: FeedSelection): SentSelection {
  const { group, version, kind, plural, namespaced, hasStatusSubresource } = resource.model;
  const { where, labels, omitManagedFields } = query;
  return {
    model: { group, version, kind, plural, namespaced, hasStatusSubresource },
    namespace: resource.namespace,
    query: {
      ...(where === undefined ? {} : { where }),
      ...(labels === undefined ? {} : { labels }),
      ...(omitManagedFields === undefined ? {} : { omitManagedFields }),
    },
    hasObjects,
  };
}
