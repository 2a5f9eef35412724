import type { Logger } from 'pino';
import type { Options } from '../options/option-table.ts';

/** Of the drain timeout, what is kept back for everything after the last request. */
const LONGEST_AFTERMATH_MS = 5000;

/** For a server to end its requests. */
export interface DrainTimes {
  /** For load balancers to notice, at most half of what there is. */
  readonly delayMs: number;
  readonly drainTimeoutMs: number;
}

export function drainTimes(options: Options): DrainTimes {
  const all = options['svc.server.drain-timeout'];
  const forRequests = all - Math.min(LONGEST_AFTERMATH_MS, all / 2);
  const delayMs = Math.min(options['svc.server.shutdown-delay'], forRequests / 2);
  return { delayMs, drainTimeoutMs: forRequests - delayMs };
}

/**
 * Said at the start, as at the end nobody would hear of it: load balancers that take longer than the delay that is left
 * lose requests.
 */
export function warnOfShortDelay(options: Options, log: Logger): void {
  const wanted = options['svc.server.shutdown-delay'];
  const { delayMs } = drainTimes(options);
  if (delayMs === wanted) return;
  log.warn(
    { shutdownDelayMs: wanted, usedMs: delayMs },
    'svc.server.shutdown-delay is cut, as svc.server.drain-timeout leaves no more: make that twice the delay and 5s',
  );
}
