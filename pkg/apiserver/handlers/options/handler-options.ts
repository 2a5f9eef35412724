import { noWatchObserver, type WatchObserver } from '../../informer-bus/watch-observer.ts';
import { defaultWatchTiming, type WatchTiming } from './watch-timing.ts';

/** Options of the generated API. Sizes in bytes, times in milliseconds. */
export interface HandlerOptions {
  /** A larger `size` is reduced to this value, with a warning. Default 1000. */
  maxPageSize: number;
  /** A larger `limit` yields a chunk of this size and a continue token. Default 10 000. */
  maxChunkSize: number;
  /** Default 3 MiB. */
  bodyLimit: number;
  /** Time for the whole body to arrive. Default 30 s. */
  bodyTimeoutMs: number;
  watch: WatchTiming;
  /** Receives events about watches. Default: none. */
  watchObserver: WatchObserver;
}

export const defaultHandlerOptions: HandlerOptions = {
  maxPageSize: 1000,
  maxChunkSize: 10_000,
  bodyLimit: 3 * 1024 * 1024,
  bodyTimeoutMs: 30_000,
  watch: defaultWatchTiming,
  watchObserver: noWatchObserver,
};
