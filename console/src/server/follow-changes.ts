import {
  isStatusError,
  RetryBackoff,
  StatusError,
  type AnyObject,
  type ClientEvent,
  type IndexTypes,
  type Resource,
  type WhereSelection,
} from '@svc/client';
import { whenVisible } from './when-visible.ts';

/** `live`: every change arrives. `stale`: since then the server could not be reached. */
export type StreamState = { name: 'connecting' | 'live' } | { name: 'stale'; since: Date; failure?: StatusError };

export interface FollowOptions {
  signal: AbortSignal;
  selection?: WhereSelection<IndexTypes>;
  /** Something may have changed: an empty list of events means that some may have been missed. */
  onEvents: (events: readonly ClientEvent<AnyObject>[]) => void;
  onState?: (state: StreamState) => void;
  /** Failures after which it does not try again. Default: none. */
  isEnd?: (failure: unknown) => boolean;
}

/**
 * Tells of every change of a selection while the page is visible, until the signal aborts. A hidden page has no stream,
 * because a browser has six connections to a server; it hears `onEvents([])` when it is visible again.
 */
export function followChanges(resource: Resource<AnyObject>, options: FollowOptions): void {
  void follow(resource, options);
}

async function follow(
  resource: Resource<AnyObject>,
  { signal, selection = {}, onEvents, onState, isEnd }: FollowOptions,
): Promise<void> {
  const backoff = new RetryBackoff();
  let lastSign = new Date();
  while (!signal.aborted) {
    // Ends the stream when the page is hidden, too.
    const visible = await whenVisible(signal);
    if (signal.aborted) return;
    try {
      const { metadata } = await resource.list({ ...selection, limit: 1, signal: visible });
      const stream = await resource.watch({ ...selection, since: metadata.resourceVersion, signal: visible });
      onState?.({ name: 'live' });
      onEvents([]);
      for await (const events of stream.batches()) {
        backoff.reset();
        lastSign = new Date();
        const changes = events.filter(({ type }) => type !== 'BOOKMARK');
        if (changes.length > 0) onEvents(changes);
      }
      if (stream.wasSilent) onState?.({ name: 'stale', since: lastSign });
    } catch (error) {
      if (signal.aborted || isEnd?.(error) === true) return;
      if (!visible.aborted && !isStatusError(error, 'Expired'))
        onState?.({
          name: 'stale',
          since: lastSign,
          ...(error instanceof StatusError ? { failure: error } : {}),
        });
    }
    if (!visible.aborted) await backoff.wait(signal);
  }
}
