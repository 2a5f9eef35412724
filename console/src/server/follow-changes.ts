import {
  follow,
  live,
  type AnyObject,
  type ClientEvent,
  type IndexTypes,
  type LiveState,
  type Resource,
  type StatusError,
  type Stored,
  type WhereSelection,
} from '@svc/client';
import { noteStreamRefusal } from './server.ts';
import { whenVisible } from './when-visible.ts';

/** `live`: every change arrives. `stale`: since then the server could not be reached. */
export type StreamState =
  { name: 'connecting' | 'live' } | { name: 'stale'; since: Date; failure?: StatusError | undefined };

interface StreamOptions {
  signal: AbortSignal;
  selection?: WhereSelection<IndexTypes>;
  onState?: (state: StreamState) => void;
  /** Failures after which it does not try again. Default: none. */
  isEnd?: (failure: unknown) => boolean;
}

export interface FollowChangesOptions extends StreamOptions {
  /**
   * Something may have changed: an empty list of events means that some may have been missed, but by what was read at
   * `revision` or later.
   */
  onEvents: (events: readonly ClientEvent<AnyObject>[], revision?: string) => void;
}

/**
 * Tells of every change of a selection while the page is visible, until the signal aborts. A hidden page follows nothing;
 * it hears `onEvents([])` when it is visible again.
 */
export function followChanges(
  resource: Resource<AnyObject>,
  { selection = {}, onEvents, ...options }: FollowChangesOptions,
): void {
  void whileVisible(options, (signal, onState) => follow(resource, { ...selection, signal, onEvents, onState }));
}

export interface FollowObjectsOptions extends StreamOptions {
  /** As they are now, once they are known. */
  onObjects: (objects: readonly Stored<AnyObject>[]) => void;
}

/** The same, for who shows the objects themselves: they come with the answer that it begins with. */
export function followObjects(
  resource: Resource<AnyObject>,
  { selection = {}, onObjects, ...options }: FollowObjectsOptions,
): void {
  void whileVisible(options, (signal, onState) => {
    const list = live(resource, selection);
    let isKnown = false;
    let { state } = list;
    const tell = (): void => {
      if (signal.aborted) return;
      if (isKnown) onObjects(list.current);
      if (list.state === state) return;
      ({ state } = list);
      onState(state);
    };
    list.subscribe(tell);
    const tellFirst = async (): Promise<void> => {
      await list.ready;
      isKnown = true;
      tell();
    };
    void tellFirst();
    signal.addEventListener('abort', () => list.stop());
  });
}

async function whileVisible(
  { signal, onState, isEnd }: StreamOptions,
  begin: (visible: AbortSignal, onState: (state: LiveState) => void) => void,
): Promise<void> {
  const ended = new AbortController();
  signal.addEventListener('abort', () => ended.abort());
  if (signal.aborted) ended.abort();
  while (!ended.signal.aborted) {
    const visible = await whenVisible(ended.signal);
    if (ended.signal.aborted) return;
    begin(visible, (state) => {
      if (state.name === 'live') onState?.({ name: 'live' });
      if (state.name !== 'stale') return;
      const { staleSince: since, failure } = state;
      // The stream may be that of a worker, whose answers the page does not see.
      if (failure !== undefined) noteStreamRefusal(failure.code);
      if (isEnd?.(failure) === true) ended.abort();
      else onState?.({ name: 'stale', since, failure });
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
