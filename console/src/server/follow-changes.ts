import {
  follow,
  type AnyObject,
  type ClientEvent,
  type IndexTypes,
  type Resource,
  type StatusError,
  type WhereSelection,
} from '@svc/client';
import { noteStreamRefusal } from './server.ts';
import { whenVisible } from './when-visible.ts';

/** `live`: every change arrives. `stale`: since then the server could not be reached. */
export type StreamState =
  { name: 'connecting' | 'live' } | { name: 'stale'; since: Date; failure?: StatusError | undefined };

export interface FollowOptions {
  signal: AbortSignal;
  selection?: WhereSelection<IndexTypes>;
  /**
   * Something may have changed: an empty list of events means that some may have been missed, but by what was read at
   * `revision` or later.
   */
  onEvents: (events: readonly ClientEvent<AnyObject>[], revision?: string) => void;
  onState?: (state: StreamState) => void;
  /** Failures after which it does not try again. Default: none. */
  isEnd?: (failure: unknown) => boolean;
}

/**
 * Tells of every change of a selection while the page is visible, until the signal aborts. A hidden page follows nothing;
 * it hears `onEvents([])` when it is visible again.
 */
export function followChanges(resource: Resource<AnyObject>, options: FollowOptions): void {
  void followWhileVisible(resource, options);
}

async function followWhileVisible(
  resource: Resource<AnyObject>,
  { signal, selection = {}, onEvents, onState, isEnd }: FollowOptions,
): Promise<void> {
  const ended = new AbortController();
  signal.addEventListener('abort', () => ended.abort());
  if (signal.aborted) ended.abort();
  while (!ended.signal.aborted) {
    const visible = await whenVisible(ended.signal);
    if (ended.signal.aborted) return;
    follow(resource, {
      ...selection,
      signal: visible,
      onEvents,
      onState: (state) => {
        if (state.name === 'live') onState?.({ name: 'live' });
        if (state.name !== 'stale') return;
        const { staleSince: since, failure } = state;
        // The stream may be that of a worker, whose answers the page does not see.
        if (failure !== undefined) noteStreamRefusal(failure.code);
        if (isEnd?.(failure) === true) ended.abort();
        else onState?.({ name: 'stale', since, failure });
      },
    });
    await endOf(visible);
  }
}

function endOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve());
  });
}
