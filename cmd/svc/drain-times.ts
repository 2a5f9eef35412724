import type { Options } from './options/option-table.ts';

/** Of the drain timeout, what is kept back for everything after the last request. */
const LONGEST_AFTERMATH_MS = 5000;

/** For a server to end its requests. The delay is at most half of what there is. */
export function drainTimes(options: Options): { delayMs: number; drainTimeoutMs: number } {
  const all = options['svc.server.drain-timeout'];
  const forRequests = all - Math.min(LONGEST_AFTERMATH_MS, all / 2);
  const delayMs = Math.min(options['svc.server.shutdown-delay'], forRequests / 2);
  return { delayMs, drainTimeoutMs: forRequests - delayMs };
}
