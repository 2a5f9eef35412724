import { isStatusError, type StatusError } from '#pkg/apimachinery/index';

export interface RecheckAccessOptions {
  /**
   * Rejects with StatusError 401 or 403 when the right to watch is gone; with any other error when the check itself
   * fails.
   */
  recheck: () => Promise<void>;
  /** Maximum time between two checks. Milliseconds. */
  everyMs: number;
  /** Called once. */
  onLost: (error: StatusError) => void;
}

/**
 * Checks periodically whether a watch may continue; returns a function that stops the checks. While a check fails for
 * other reasons, the watch continues: events and changes of roles arrive in order on one stream, so the watch sends
 * nothing newer than the roles this replica knows.
 */
export function recheckAccess({ recheck, everyMs, onLost }: RecheckAccessOptions): () => void {
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
  // Random intervals, so that watches that began together do not all check at once.
  const timer = setInterval(() => void look(), everyMs * (0.75 + Math.random() / 4));
  timer.unref();
  return stop;
}
