import type { Logger } from 'pino';
import type { Options } from '../options/option-table.ts';

/** The part of the drain timeout for everything after the last request. Milliseconds. */
const maxAftermathMs = 5000;

/** How long a server takes to end its requests. */
export interface DrainTimes {
  /** Time for load balancers to notice, at most half of the total. */
  readonly delayMs: number;
  readonly drainTimeoutMs: number;
}

export function drainTimes(options: Options): DrainTimes {
  const all = options['svc.server.drain-timeout'];
  const forRequests = all - Math.min(maxAftermathMs, all / 2);
  const delayMs = Math.min(options['svc.server.shutdown-delay'], forRequests / 2);
  return { delayMs, drainTimeoutMs: forRequests - delayMs };
}

/** Warns at the start, because a log line at the stop would be too late: slower load balancers lose requests. */
export function warnOfShortDelay(options: Options, log: Logger): void {
  const wanted = options['svc.server.shutdown-delay'];
  const { delayMs } = drainTimes(options);
  if (delayMs === wanted) return;
  log.warn(
    { shutdownDelayMs: wanted, usedMs: delayMs },
    'svc.server.shutdown-delay is shortened, because svc.server.drain-timeout is too short for it: set that to twice the delay plus 5s',
  );
}
