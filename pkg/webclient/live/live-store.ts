import type { AnyObject, ClientEvent, ObjectList, Stored } from '#pkg/apimachinery/index';
import type { LiveSource } from '../live-source.ts';
import { onNextFrame } from '../on-next-frame.ts';
import { callListener } from './call-listener.ts';
import { ListFollower, type FeedListener, type LiveState } from './list-follower.ts';

/** The objects of one selection, kept up to date by a feed of its changes. */
export class LiveStore<T extends AnyObject> implements FeedListener<T> {
  objects = new Map<string, Stored<T>>();
  /** Increases with every change of the objects. */
  version = 0;
  /** Is the first list there? */
  isLoaded = false;
  state: LiveState = { name: 'loading' };
  readonly #feed: ListFollower<T>;
  readonly #listeners = new Set<() => void>();
  #isToldSoon = false;

  constructor(source: LiveSource<T>) {
    this.#feed = new ListFollower(source, this);
  }

  /** Calls `listener` after each change of objects or state, once for all events that came together or within a frame. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends the stream. Its objects stay as they are. */
  stop(): void {
    this.#listeners.clear();
    this.#feed.stop();
  }

  take(events: readonly ClientEvent<T>[]): void {
    for (const event of events) {
      if (event.type === 'BOOKMARK') continue;
      const { uid } = event.object.metadata;
      if (event.type === 'DELETED') this.objects.delete(uid);
      else this.objects.set(uid, event.object);
      this.version += 1;
    }
    this.#notify();
  }

  /** Objects that did not change stay the same values. */
  replace({ items }: ObjectList<T>): void {
    const before = this.objects;
    this.objects = new Map(
      items.map((item) => {
        const { uid, resourceVersion } = item.metadata;
        const old = before.get(uid);
        return [uid, old?.metadata.resourceVersion === resourceVersion ? old : item];
      }),
    );
    this.version += 1;
    this.isLoaded = true;
    this.#notify();
  }

  enter(state: LiveState): void {
    this.state = state;
    this.#notify();
  }

  /** Once a frame where frames are painted. */
  #notify(): void {
    if (this.#isToldSoon) return;
    this.#isToldSoon = true;
    onNextFrame(() => {
      this.#isToldSoon = false;
      for (const listener of this.#listeners) callListener(listener);
    });
  }
}
