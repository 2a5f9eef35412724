import type { AnyObject } from '#pkg/apimachinery/index';
import type { BrowserSession } from '../live-source.ts';
import { ownSource } from '../live/selection-source.ts';
import { RequestSender, type RequestSenderOptions } from '../request/sender.ts';
import { Resource } from '../resource/resource.ts';
import type { FeedPort } from './feed-port.ts';
import { protocol, type FeedUpdate, type PageMessage, type SentSelection, type WorkerMessage } from './messages.ts';
import { SharedFeed } from './shared-feed.ts';
import { TabFeed } from './tab-feed.ts';

/** A sign of life is sent to each tab so often. Milliseconds. */
const beatMs = 10_000;
/** A tab that took nothing for so long is gone, or sleeps: it asks anew when it wakes. Milliseconds. */
const maxSilenceMs = 60_000;

/**
 * Keeps lists up to date for all tabs of an origin: the script of a SharedWorker is this call. Each session of the
 * browser has streams of its own, so that no tab gets what another user may see.
 */
export function serveTabs(): void {
  const feeds = new SharedFeeds();
  const scope = globalThis as unknown as {
    addEventListener(type: 'connect', listener: (event: { ports: readonly FeedPort[] }) => void): void;
  };
  scope.addEventListener('connect', ({ ports }) => serveTab(ports[0]!, feeds));
}

/** Serves one tab by its port. */
export function serveTab(port: FeedPort, feeds: SharedFeeds): void {
  const tab = new Tab(port, feeds);
  port.addEventListener('message', ({ data }) => tab.receive(data as PageMessage));
  port.start();
  port.postMessage({ protocol }, []);
}

/** By session and selection. */
export class SharedFeeds {
  readonly #options: Pick<RequestSenderOptions, 'fetch' | 'maxSilenceMs'>;
  readonly #feeds = new Map<string, SharedFeed>();
  /** One for each session, so that its feeds share one stream. */
  readonly #senders = new Map<string, { sender: RequestSender; feeds: number }>();

  /** `options` of the requests of all sessions. */
  constructor(options: Pick<RequestSenderOptions, 'fetch' | 'maxSilenceMs'> = {}) {
    this.#options = options;
  }

  /** Selections that a tab follows. */
  get size(): number {
    return this.#feeds.size;
  }

  /** Returns the end of the subscription. */
  subscribe(session: BrowserSession, selection: SentSelection, subscriber: TabFeed): () => void {
    const sessionKey = JSON.stringify([session.url, session.csrfToken]);
    const { namespace, query, hasObjects } = selection;
    const { group, version, plural } = selection.model;
    const key = JSON.stringify([sessionKey, group, version, plural, namespace, query, hasObjects]);
    const known = this.#feeds.get(key);
    const feed = known ?? this.#open(sessionKey, session, selection);
    this.#feeds.set(key, feed);
    feed.add(subscriber);
    return () => {
      feed.remove(subscriber);
      if (feed.isUsed || this.#feeds.get(key) !== feed) return;
      this.#feeds.delete(key);
      feed.stop();
      const ofSession = this.#senders.get(sessionKey)!;
      ofSession.feeds -= 1;
      if (ofSession.feeds === 0) this.#senders.delete(sessionKey);
    };
  }

  #open(sessionKey: string, { url, csrfToken }: BrowserSession, selection: SentSelection): SharedFeed {
    const ofSession = this.#senders.get(sessionKey) ?? {
      sender: new RequestSender({ ...this.#options, url }),
      feeds: 0,
    };
    this.#senders.set(sessionKey, ofSession);
    ofSession.feeds += 1;
    ofSession.sender.csrfToken = csrfToken;
    const { model, namespace, query, hasObjects } = selection;
    const resource = new Resource<AnyObject>(ofSession.sender, model, namespace);
    return new SharedFeed(ownSource(resource, query, hasObjects), { hasObjects });
  }
}

class Tab {
  readonly #port: FeedPort;
  readonly #feeds: SharedFeeds;
  readonly #open = new Map<number, { feed: TabFeed; end: () => void }>();
  #isTaken = true;
  #isSoon = false;
  #lastSign = Date.now();
  readonly #beat = setInterval(() => this.#check(), beatMs);

  constructor(port: FeedPort, feeds: SharedFeeds) {
    this.#port = port;
    this.#feeds = feeds;
  }

  receive(message: PageMessage): void {
    this.#lastSign = Date.now();
    switch (message.type) {
      case 'open': {
        const feed = new TabFeed(message.id, () => this.#sendSoon());
        const end = this.#feeds.subscribe(message.session, message.selection, feed);
        this.#open.set(message.id, { feed, end });
        break;
      }
      case 'close':
        this.#close(message.id);
        break;
      case 'taken':
        this.#isTaken = true;
        this.#sendSoon();
        break;
      case 'awake':
        // The streams of this worker listen to it, as they do in a page.
        (globalThis as Partial<EventTarget>).dispatchEvent?.(new Event('online'));
        break;
      case 'leave':
        this.#end();
        break;
    }
  }

  /** What comes together is one message. */
  #sendSoon(): void {
    if (this.#isSoon || !this.#isTaken) return;
    this.#isSoon = true;
    queueMicrotask(() => {
      this.#isSoon = false;
      if (this.#isTaken) this.#send();
    });
  }

  #send(): void {
    const updates: FeedUpdate[] = [];
    for (const [id, { feed }] of this.#open) {
      const update = feed.next();
      if (update === undefined) continue;
      updates.push(update);
      if (update.isExpired === true) this.#close(id);
    }
    if (updates.length > 0) this.#post(updates);
  }

  #post(updates: FeedUpdate[]): void {
    this.#isTaken = false;
    this.#port.postMessage({ updates }, []);
  }

  #check(): void {
    if (Date.now() - this.#lastSign > maxSilenceMs) {
      this.#port.postMessage({ updates: [], isOver: true } satisfies WorkerMessage, []);
      this.#end();
    } else if (this.#isTaken) this.#post([]);
  }

  #close(id: number): void {
    this.#open.get(id)?.end();
    this.#open.delete(id);
  }

  #end(): void {
    clearInterval(this.#beat);
    for (const id of this.#open.keys()) this.#close(id);
    this.#port.close();
  }
}
