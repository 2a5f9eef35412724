import type { AnyObject } from '#pkg/apimachinery/index';
import type { BrowserSession } from '../live-source.ts';
import { onNextFrame } from '../on-next-frame.ts';
import { listenUntil } from '../listen-until.ts';
import { onWake } from '../on-wake.ts';
import type { FeedPort } from './feed-port.ts';
import { protocol, type FeedUpdate, type PageMessage, type SentSelection, type WorkerMessage } from './messages.ts';
import { PageFeed } from './page-feed.ts';

/** As much of a SharedWorker as the feeds need. */
export interface FeedWorker {
  readonly port: FeedPort;
  addEventListener(type: 'error', listener: () => void): void;
}

/** A worker that does not answer in this time cannot be used. Milliseconds. */
const startMs = 5000;
/** A worker that sent nothing for so long, not even its sign of life of every 10 s, is dead. Milliseconds. */
const maxSilenceMs = 25_000;

/** A page's connection to its worker. */
export class PageTab {
  readonly #port: FeedPort;
  readonly #onEnd: () => void;
  readonly #feeds = new Map<number, PageFeed<AnyObject>>();
  #silence: ReturnType<typeof setTimeout> | undefined;
  readonly #end = new AbortController();
  #lastId = 0;
  #lastSign = Date.now();

  private constructor(port: FeedPort, onEnd: () => void) {
    this.#port = port;
    this.#onEnd = onEnd;
    onWake(() => this.#wake(), this.#end.signal);
    const leave = (): void => {
      this.#post({ type: 'leave' });
      this.end();
    };
    listenUntil(this.#end.signal, globalThis as Partial<EventTarget>, 'pagehide', leave);
  }

  /** Undefined if the worker cannot be used. `onEnd` is called once it is dead, or the page goes away. */
  static start(open: () => FeedWorker, onEnd: () => void): Promise<PageTab | undefined> {
    return new Promise((resolve) => {
      let worker: FeedWorker | undefined;
      let tab: PageTab | undefined;
      const settle = (usable?: PageTab): void => {
        clearTimeout(timer);
        if (usable === undefined) worker?.port.close();
        tab = usable;
        resolve(usable);
      };
      const timer = setTimeout(() => settle(), startMs);
      try {
        const { port } = (worker = open());
        worker.addEventListener('error', () => settle());
        port.addEventListener('message', ({ data }) => {
          const message = data as WorkerMessage;
          if (!('updates' in message)) settle(message.protocol === protocol ? new PageTab(port, onEnd) : undefined);
          else if (tab !== undefined) tab.#receive(message);
        });
        port.start();
      } catch {
        // There are no such workers here.
        settle();
      }
    });
  }

  /** Until the signal aborts, or the session is no longer current. */
  open<T extends AnyObject>(
    session: BrowserSession,
    selection: SentSelection,
    signal: AbortSignal,
    isCurrent: () => boolean,
  ): PageFeed<T> {
    this.#lastId += 1;
    const id = this.#lastId;
    const feed = new PageFeed<T>(isCurrent);
    // A worker that held a sleeping page for gone ends the tab with the first messages that the page takes.
    if (this.#end.signal.aborted) {
      feed.lose();
      return feed;
    }
    this.#feeds.set(id, feed as unknown as PageFeed<AnyObject>);
    if (this.#silence === undefined) this.#expectSign();
    this.#post({ type: 'open', id, session, selection });
    const close = (): void => {
      feed.close(signal.reason);
      this.close(id);
    };
    listenUntil(feed.ended, signal, 'abort', close);
    // The next try opens another one.
    feed.ended.addEventListener('abort', () => this.close(id));
    return feed;
  }

  end(wasSilent = false): void {
    if (this.#end.signal.aborted) return;
    clearTimeout(this.#silence);
    this.#end.abort();
    this.#port.close();
    this.#onEnd();
    const lost = [...this.#feeds.values()];
    this.#feeds.clear();
    for (const feed of lost) feed.lose(wasSilent);
  }

  close(id: number): void {
    if (!this.#feeds.delete(id)) return;
    this.#post({ type: 'close', id });
    if (this.#feeds.size === 0) this.#expectSign();
  }

  #receive({ updates, isOver = false }: { updates: readonly FeedUpdate[]; isOver?: boolean }): void {
    if (isOver) return this.end();
    this.#lastSign = Date.now();
    this.#expectSign();
    for (const update of updates) this.#feeds.get(update.id)?.receive(update);
    // So there is at most one message a frame, and a page that is busy is not flooded.
    onNextFrame(() => this.#post({ type: 'taken' }));
  }

  /** It may have slept: the worker looks after its streams, and the page after the worker. */
  #wake(): void {
    this.#post({ type: 'awake' });
    if (Date.now() - this.#lastSign > maxSilenceMs / 2) this.end(true);
  }

  /** A page that follows nothing needs no worker. */
  #expectSign(): void {
    clearTimeout(this.#silence);
    this.#silence = this.#feeds.size === 0 ? undefined : setTimeout(() => this.end(true), maxSilenceMs);
  }

  #post(message: PageMessage): void {
    this.#port.postMessage(message, []);
  }
}
