import type { Instant } from './history.ts';

/** The only clock of a history, which no fault changes. */
export function now(): Instant {
  return Number(process.hrtime.bigint()) / 1e6;
}
