import type { Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { BytesObserver, BytesRefusedBy } from '../memory/request-bytes.ts';
import { registerReading } from '../metrics/register-reading.ts';
import { durationBuckets, SeriesHistogram } from '../metrics/series-histogram.ts';
import type { InFlightObserver } from './in-flight-limits.ts';
import type { RefusedBy } from './limit-refusal.ts';

/** Overload is told so long after the first refusal, with what was refused meanwhile. Milliseconds. */
const tellFirstMs = 1000;
/** Then once in so long, while there are more. Milliseconds. */
const tellEveryMs = 10_000;

export interface LimitsObserver extends InFlightObserver, BytesObserver {
  refused(by: RefusedBy | BytesRefusedBy): void;
  /** Tells what is not told yet, and leaves no timer. */
  close(): void;
}

/**
 * Counts what the limits of requests under way refuse and delay, and says in the log that they do: a line for each
 * would be part of the overload.
 */
export function observeLimits({
  log,
  registry,
  waiting,
}: {
  log: Logger;
  registry: Registry;
  waiting: () => number;
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
  const wait = new SeriesHistogram({
    name: 'svc_request_wait_seconds',
    help: 'Time that requests waited for others to end, of those that had to.',
    labelNames: [],
    buckets: durationBuckets,
    registry,
  }).series({});
  const untold = new Map<RefusedBy | BytesRefusedBy, number>();
  let timer: NodeJS.Timeout | undefined;
  const tell = (): void => {
    if (untold.size > 0)
      log.warn(
        { refused: Object.fromEntries(untold) },
        'requests are refused: more are under way than the limits allow',
      );
    timer = untold.size > 0 ? setTimeout(tell, tellEveryMs).unref() : undefined;
    untold.clear();
  };
  return {
    waited: (ms) => wait.observe(ms / 1000),
    refused: (reason) => {
      refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
      untold.set(reason, (untold.get(reason) ?? 0) + 1);
      timer ??= setTimeout(tell, tellFirstMs).unref();
    },
    close: () => {
      clearTimeout(timer);
      tell();
      clearTimeout(timer);
    },
  };
}
