import { isStatusError, type StatusError } from '#pkg/apimachinery/index';

export interface WatchRight {
  /**
   * Rejects with a StatusError 401 or 403 where the right to watch is gone; with anything else where that cannot be
   * told.
   */
  recheck: () => Promise<void>;
  /** At most, between two looks. Milliseconds. */
  everyMs: number;
  /** Called once. */
  onLost: (error: StatusError) => void;
}

/**
 * Looks from time to time whether a watch may go on; the answer stops that. While it cannot be told the watch stays:
 * news come by the same stream of changes as roles do, and in order, so nothing is told that is newer than what is
 * known of them.
 */
export function keepChecking({ recheck, everyMs, onLost }: WatchRight): () => void {
  let isOver = false;
  let isChecking = false;
  const stop = (): void => {
    isOver = true;
    clearInterval(timer);
  };
  const look = async (): Promise<void> => {
    if (isChecking) return;
    isChecking = true;
    try {
      await recheck();
    } catch (error) {
      if (isOver || (!isStatusError(error, 'Unauthorized') && !isStatusError(error, 'Forbidden'))) return;
      stop();
      onLost(error);
    } finally {
      isChecking = false;
    }
  };
  // At different times, so that watches that began together do not all look at once.
  const timer = setInterval(() => void look(), everyMs * (0.75 + Math.random() / 4));
  timer.unref();
  return stop;
}
