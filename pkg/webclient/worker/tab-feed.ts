import type { AnyObject, ClientEvent, ObjectList, Stored } from '#pkg/apimachinery/index';
import type { LiveState } from '../live/list-follower.ts';
import { maxChunk, type FeedState, type FeedUpdate } from './messages.ts';
import type { FeedSubscriber } from './shared-feed.ts';

/** A tab that is so far behind gets the objects anew when it takes them. */
const maxPendingEvents = 2000;

/** What one tab has not been sent yet of one selection. */
export class TabFeed implements FeedSubscriber {
  readonly #id: number;
  readonly #onPending: () => void;
  #items: Stored<AnyObject>[] = [];
  /** Of the list that is not sent completely. */
  #resourceVersion: string | undefined;
  #events: ClientEvent<AnyObject>[] = [];
  #state: FeedState | undefined;
  #isExpired = false;

  constructor(id: number, onPending: () => void) {
    this.#id = id;
    this.#onPending = onPending;
  }

  begin({ items, resourceVersion }: ObjectList<AnyObject>): void {
    this.#items = items;
    this.#resourceVersion = resourceVersion;
    this.#onPending();
  }

  take(events: readonly ClientEvent<AnyObject>[]): void {
    if (this.#isExpired) return;
    this.#events.push(...events);
    if (this.#events.length > maxPendingEvents) this.expire();
    else this.#onPending();
  }

  enter({ name, ...facts }: LiveState): void {
    const { failure } = facts as { failure?: { toStatus(): FeedState['failure'] } };
    this.#state = { name, ...(failure === undefined ? {} : { failure: failure.toStatus()! }) };
    this.#onPending();
  }

  expire(): void {
    this.#isExpired = true;
    this.#events = [];
    this.#items = [];
    this.#onPending();
  }

  /** The next of it; undefined if there is nothing. */
  next(): FeedUpdate | undefined {
    const id = this.#id;
    if (this.#isExpired) return { id, isExpired: true };
    const update: FeedUpdate = { id };
    if (this.#resourceVersion !== undefined) {
      update.items = this.#items.splice(0, maxChunk);
      if (this.#items.length > 0) return update;
      update.resourceVersion = this.#resourceVersion;
      this.#resourceVersion = undefined;
    }
    if (this.#events.length > 0) update.events = this.#events.splice(0, maxChunk);
    if (this.#events.length === 0 && this.#state !== undefined) {
      update.state = this.#state;
      this.#state = undefined;
    }
    return Object.keys(update).length > 1 ? update : undefined;
  }

  get hasMore(): boolean {
    return !this.#isExpired && (this.#resourceVersion !== undefined || this.#events.length > 0);
  }
}
