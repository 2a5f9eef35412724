import type { AnyObject, ClientEvent, IndexTypes, MetadataIndexes } from '#pkg/apimachinery/index';
import type { Resource } from '../resource/resource.ts';
import { callListener } from './call-listener.ts';
import { ListFollower, type LiveState } from './list-follower.ts';
import type { LiveQuery } from './live.ts';
import { sourceOf } from './selection-source.ts';

export interface FollowOptions<T extends AnyObject, Indexes extends IndexTypes> extends Omit<
  LiveQuery<T, Indexes>,
  'compare'
> {
  /** Ends it. */
  signal: AbortSignal;
  /**
   * What has changed. Without events: it begins here, or changes were missed, so read what you need. `revision` then is
   * where it goes on: what was read at that revision or later has nothing missing.
   */
  onEvents: (events: readonly ClientEvent<T>[], revision?: string) => void;
  onState?: (state: LiveState) => void;
}

/**
 * Tells every change of the selection from now on, by the stream of its connection, and holds no objects. For pages that
 * read what they show by themselves, such as one page of a long list.
 */
export function follow<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  { signal, onEvents, onState, ...query }: FollowOptions<T, Indexes & MetadataIndexes>,
): void {
  if (signal.aborted) return;
  const feed = new ListFollower<T>(sourceOf(resource, query, false), {
    replace: ({ resourceVersion }) => tell([], resourceVersion),
    take: (events) => {
      const changes = events.filter(({ type }) => type !== 'BOOKMARK');
      if (changes.length > 0) tell(changes);
    },
    enter: (state) => {
      if (!signal.aborted) callListener(() => onState?.(state));
    },
  });
  const tell: typeof onEvents = (...news) => {
    if (!signal.aborted) callListener(() => onEvents(...news));
  };
  signal.addEventListener('abort', () => feed.stop());
}
