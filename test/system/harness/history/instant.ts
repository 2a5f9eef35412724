import type { Instant } from './history.ts';

/** The one clock of a history: no fault steps it. */
export function now(): Instant {
  return Number(process.hrtime.bigint()) / 1e6;
}
