import type { AnyObject, ClientEvent, ObjectList, Stored } from '#pkg/apimachinery/index';
import { ListFollower, type FeedListener, type LiveState } from '../live/list-follower.ts';
import type { LiveSource } from '../live-source.ts';

/** Who follows a shared feed. */
export interface FeedSubscriber {
  /** What there is: once, when it is known. */
  begin(list: ObjectList<AnyObject>): void;
  take(events: readonly ClientEvent<AnyObject>[]): void;
  enter(state: LiveState): void;
  /** Changes were missed. */
  expire(): void;
}

/** One selection for all tabs that show it. */
export class SharedFeed implements FeedListener<AnyObject> {
  readonly #hasObjects: boolean;
  readonly #objects = new Map<string, Stored<AnyObject>>();
  readonly #subscribers = new Set<FeedSubscriber>();
  readonly #feed: ListFollower<AnyObject>;
  /** Undefined until the first list is there. */
  #revision: string | undefined;
  #state: LiveState = { name: 'loading' };

  constructor(source: LiveSource<AnyObject>, { hasObjects }: { hasObjects: boolean }) {
    this.#hasObjects = hasObjects;
    this.#feed = new ListFollower(source, this);
  }

  get isUsed(): boolean {
    return this.#subscribers.size > 0;
  }

  add(subscriber: FeedSubscriber): void {
    this.#subscribers.add(subscriber);
    if (this.#revision !== undefined) subscriber.begin(this.#list(this.#revision));
    subscriber.enter(this.#state);
  }

  remove(subscriber: FeedSubscriber): void {
    this.#subscribers.delete(subscriber);
  }

  stop(): void {
    this.#feed.stop();
  }

  replace({ items, resourceVersion }: ObjectList<AnyObject>): void {
    const isFirst = this.#revision === undefined;
    this.#revision = resourceVersion;
    this.#objects.clear();
    for (const item of items) this.#objects.set(item.metadata.uid, item);
    for (const subscriber of this.#subscribers)
      if (isFirst) subscriber.begin(this.#list(resourceVersion));
      else subscriber.expire();
  }

  take(events: readonly ClientEvent<AnyObject>[]): void {
    for (const event of events) {
      if (event.type === 'BOOKMARK') {
        this.#revision = event.resourceVersion;
        continue;
      }
      const { uid, resourceVersion } = event.object.metadata;
      this.#revision = resourceVersion;
      if (event.type === 'DELETED') this.#objects.delete(uid);
      else if (this.#hasObjects) this.#objects.set(uid, event.object);
    }
    for (const subscriber of this.#subscribers) subscriber.take(events);
  }

  enter(state: LiveState): void {
    this.#state = state;
    for (const subscriber of this.#subscribers) subscriber.enter(state);
  }

  #list(resourceVersion: string): ObjectList<AnyObject> {
    return { items: [...this.#objects.values()], resourceVersion };
  }
}
