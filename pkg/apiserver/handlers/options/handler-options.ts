import { noWatchObserver, type WatchObserver } from '../../informer-bus/watch-observer.ts';
import { defaultWatchTiming, type WatchTiming } from './watch-timing.ts';

/** What an operator may set about the generated API. Sizes in bytes, times in milliseconds. */
export interface HandlerOptions {
  /** `size` above it is clamped, with a warning. Default 1000. */
  maxPageSize: number;
  /** `limit` above it gives a smaller chunk, and a continue token as always. Default 10 000. */
  maxChunkSize: number;
  /** Default 3 MiB. */
  bodyLimit: number;
  /** For a whole body to arrive. Default 30 s. */
  bodyTimeoutMs: number;
  watch: WatchTiming;
  /** Hears how watches fare. Default: nobody does. */
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
