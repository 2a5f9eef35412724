import type { AnyObject, ClientEvent, IndexTypes, MetadataIndexes } from '#pkg/apimachinery/index';
import type { Resource } from '../resource/resource.ts';
import { ChangeFeed, type LiveState } from './change-feed.ts';
import { changesOf, type LiveQuery } from './live.ts';

export interface FollowOptions<T extends AnyObject, Indexes extends IndexTypes> extends Omit<
  LiveQuery<T, Indexes>,
  'compare'
> {
  /** Ends it. */
  signal: AbortSignal;
  /** What has changed. Without events: it begins here, or changes were missed, so read what you need. */
  onEvents: (events: readonly ClientEvent<T>[]) => void;
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
  const feed = new ChangeFeed<T>(
    {
      list: async (until) => {
        const { metadata } = await resource.list({ ...query, limit: 1, signal: until });
        return { items: [], resourceVersion: metadata.resourceVersion };
      },
      follow: changesOf(resource, query),
    },
    {
      replace: () => onEvents([]),
      take: (events) => {
        const changes = events.filter(({ type }) => type !== 'BOOKMARK');
        if (changes.length > 0) onEvents(changes);
      },
      enter: (state) => onState?.(state),
    },
  );
  signal.addEventListener('abort', () => feed.stop());
}
