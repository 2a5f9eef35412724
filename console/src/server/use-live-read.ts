import { isStatusError, type IndexTypes, type WhereSelection } from '@svc/client';
import { useEffect, useState } from 'react';
import { followChanges, type StreamState } from './follow-changes.ts';
import type { AnyResource } from './model-info.ts';
import type { Observable } from './observable.ts';

/** Keep it in a `useMemo`: another one is read from the start. */
export interface LiveReadSource<T> {
  resource: AnyResource;
  /** A change of these objects reads anew. */
  selection?: WhereSelection<IndexTypes>;
  /** `noteRevision` gets the revision of what it read, where it knows: what has missed nothing is not read again. */
  read: (signal: AbortSignal, noteRevision: (resourceVersion: string) => void) => Promise<T>;
  /** Between the end of a read and the next one. Milliseconds; default 500. */
  minPauseMs?: number;
}

export interface LiveRead<T> {
  /** Of the newest read that succeeded. */
  value: T | undefined;
  /** Of the newest read; undefined once one succeeds. */
  failure: unknown;
  stream: StreamState;
}

export const nothingRead = { value: undefined, failure: undefined, stream: { name: 'connecting' } } as const;

/** After a read that failed. Milliseconds. */
const retryPauseMs = 3000;

/**
 * What a read answers, read again whenever the selection changes, and while it fails. Without a source nothing is read.
 */
export function useLiveRead<T>(source: LiveReadSource<T> | undefined): LiveRead<T> {
  const [state, setState] = useState<LiveRead<T> & { source: LiveReadSource<T> | undefined }>({
    ...nothingRead,
    source,
  });
  useEffect(() => {
    if (source === undefined) return undefined;
    return followRead(source, (change) =>
      setState((known) => ({ ...(known.source === source ? known : nothingRead), ...change, source })),
    );
  }, [source]);
  // What another source told is not shown as this one's.
  return state.source === source ? state : nothingRead;
}

/** Keeps what a read answers in `kept` until the signal aborts, for all parts of a page that show it. */
export function keepRead<T>(kept: Observable<LiveRead<T>>, source: LiveReadSource<T>, signal: AbortSignal): void {
  const stop = followRead(source, (change) => kept.set({ ...kept.get(), ...change }));
  signal.addEventListener('abort', stop);
}

/** Tells what a read answers, and each change of it, until the returned function is called. */
export function followRead<T>(
  { resource, selection = {}, read, minPauseMs = 500 }: LiveReadSource<T>,
  change: (change: Partial<LiveRead<T>>) => void,
): () => void {
  const end = new AbortController();
  const { signal } = end;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isReading = false;
  let isOutdated = false;
  /** What was read before `followedFrom` may have missed changes. */
  let revision = 0;
  let followedFrom = 0;
  const readNow = async (): Promise<void> => {
    isReading = true;
    isOutdated = false;
    let pauseMs = minPauseMs;
    try {
      const value = await read(signal, (resourceVersion) => {
        revision = Number(resourceVersion);
      });
      isOutdated ||= revision < followedFrom;
      if (!signal.aborted) change({ value, failure: undefined });
    } catch (failure) {
      if (!signal.aborted) change({ failure });
      // Nothing may change any more: without another try the failure would stay. A lost right does not come back by it.
      isOutdated ||= !isStatusError(failure, 'Forbidden');
      pauseMs = Math.max(minPauseMs, retryPauseMs);
    }
    isReading = false;
    if (!signal.aborted) timer = setTimeout(rest, pauseMs);
  };
  const rest = (): void => {
    timer = undefined;
    if (!isOutdated) return;
    // Nobody looks: the read waits.
    if (document.hidden) timer = setTimeout(rest, retryPauseMs);
    else void readNow();
  };
  const refresh = (): void => {
    isOutdated = true;
    if (!isReading && timer === undefined) void readNow();
  };
  refresh();
  followChanges(resource, {
    signal,
    selection,
    onEvents: (_events, from) => {
      if (from === undefined) return refresh();
      followedFrom = Number(from);
      // The answer that is on its way says whether it is new enough.
      if (!isReading && revision < followedFrom) refresh();
    },
    onState: (stream) => change({ stream }),
    // The read says so; who may not watch reads once.
    isEnd: (failure) => isStatusError(failure, 'Forbidden'),
  });
  return () => {
    clearTimeout(timer);
    end.abort();
  };
}
