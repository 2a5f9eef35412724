import type { Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { BytesObserver, BytesRefusedBy } from '../../memory/request-bytes.ts';
import { registerReading } from '../../metrics/register-reading.ts';
import { durationBuckets, SeriesHistogram } from '../../metrics/series-histogram.ts';
import type { InFlightObserver } from './in-flight-limits.ts';
import type { RefusedBy } from './limit-refusal.ts';
import { priorityLevels, type PriorityLevel } from './priority-level.ts';

/** Delay from the first refusal to its log line, which counts all refusals up to then. Milliseconds. */
const firstLogDelayMs = 1000;
/** Interval of further log lines while there are refusals. Milliseconds. */
const logIntervalMs = 10_000;

export interface LimitsObserver extends InFlightObserver, BytesObserver {
  refused(by: RefusedBy | BytesRefusedBy): void;
  /** Logs the refusals that are not logged yet, and stops the timer. */
  close(): void;
}

/**
 * Counts requests that the in-flight limits refuse and delay, and logs a summary: one line per refusal would add to the
 * overload.
 */
export function observeLimits({
  log,
  registry,
  waiting,
  runningOf,
}: {
  log: Logger;
  registry: Registry;
  waiting: () => number;
  runningOf: (level: PriorityLevel) => number;
}): LimitsObserver {
  const refusals = new Map<RefusedBy | BytesRefusedBy, number>();
  registerReading({
    registry,
    name: 'svc_requests_refused_total',
    help: 'Requests answered with 429 because too many, or too large ones, were under way.',
    type: 'counter',
    read: () => [...refusals].map(([reason, value]) => ({ labels: { reason }, value })),
  });
  registerReading({
    registry,
    name: 'svc_requests_waiting',
    help: 'Requests that wait for others to end.',
    type: 'gauge',
    read: waiting,
  });
  registerReading({
    registry,
    name: 'svc_requests_running',
    help: 'Requests that hold a slot, by priority level.',
    type: 'gauge',
    read: () => priorityLevels.map((level) => ({ labels: { level }, value: runningOf(level) })),
  });
  const wait = new SeriesHistogram({
    name: 'svc_request_wait_seconds',
    help: 'Time that requests waited for others to end, of those that had to.',
    labelNames: [],
    buckets: durationBuckets,
    registry,
  }).series({});
  const unlogged = new Map<RefusedBy | BytesRefusedBy, number>();
  let timer: NodeJS.Timeout | undefined;
  const logRefusals = (): void => {
    if (unlogged.size > 0)
      log.warn(
        { refused: Object.fromEntries(unlogged) },
        'requests are refused: more are under way than the limits allow',
      );
    timer = unlogged.size > 0 ? setTimeout(logRefusals, logIntervalMs).unref() : undefined;
    unlogged.clear();
  };
  return {
    waited: (ms) => wait.observe(ms / 1000),
    refused: (reason) => {
      refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
      unlogged.set(reason, (unlogged.get(reason) ?? 0) + 1);
      timer ??= setTimeout(logRefusals, firstLogDelayMs).unref();
    },
    close: () => {
      clearTimeout(timer);
      logRefusals();
      clearTimeout(timer);
    },
  };
}
