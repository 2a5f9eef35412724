import type { AnyObject, ClientEvent, Status, Stored } from '#pkg/apimachinery/index';
import type { BrowserSession, FeedSelection } from '../live-source.ts';

/** Both sides must have the same: change it with any change of the messages or of what they mean. */
export const protocol = 'svc feeds 2';

/** Objects of a message at most; the rest of a list comes with the next ones. */
export const maxChunk = 500;

export type PageMessage =
  | { type: 'open'; id: number; session: BrowserSession; selection: SentSelection }
  | { type: 'close'; id: number }
  /** The last update was taken in: the next may come. */
  | { type: 'taken' }
  /** The page was seen again. */
  | { type: 'awake' }
  /** The page goes away. */
  | { type: 'leave' };

/** As much of a selection as can be sent, and is needed. */
export interface SentSelection extends Pick<FeedSelection, 'query' | 'hasObjects'> {
  model: {
    group: string;
    version: string;
    kind: string;
    plural: string;
    namespaced: boolean;
    hasStatusSubresource: boolean;
  };
  namespace: string;
}

/**
 * The first message has `protocol`; the others are what has changed, none for a sign of life. With `isOver` the worker has
 * forgotten the page, which slept: it asks anew.
 */
export type WorkerMessage = { protocol: string } | { updates: FeedUpdate[]; isOver?: true };

export interface FeedUpdate {
  id: number;
  /** The next objects of the list. */
  items?: Stored<AnyObject>[];
  /** Of the list, which is complete with it. */
  resourceVersion?: string;
  events?: ClientEvent<AnyObject>[];
  state?: FeedState;
  /** Changes were missed: open it again. */
  isExpired?: boolean;
}

export interface FeedState {
  name: 'loading' | 'live' | 'catching up' | 'stale';
  failure?: Status;
}
