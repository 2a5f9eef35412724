import type { Registry } from 'prom-client';
import type { Logger } from 'pino';
import { durationBuckets, registerReading, SeriesHistogram, type InFlightObserver, type RefusedBy } from '#pkg/http/index';

/** Overload is told once in so long, with what was refused since. Milliseconds. */
const tellEveryMs = 10_000;

/** Counts what the limits of requests under way refuse and delay, and says in the log that they do: a line for each would be part of the overload. */
export function observeLimits({ log, registry, waiting }: { log: Logger; registry: Registry; waiting: () => number }): InFlightObserver {
  const refusals = new Map<RefusedBy, number>();
  registerReading({
    registry,
    name: 'svc_requests_refused_total',
    help: 'Requests answered with 429 because too many were under way.',
    type: 'counter',
    read: () => [...refusals].map(([reason, value]) => ({ labels: { reason }, value })),
  });
  registerReading({ registry, name: 'svc_requests_waiting', help: 'Requests that wait for others to end.', type: 'gauge', read: waiting });
  const wait = new SeriesHistogram({ name: 'svc_request_wait_seconds', help: 'Time that requests waited for others to end, of those that had to.', labelNames: [], buckets: durationBuckets, registry }).series({});
  let refused = 0;
  let toldAt = -Infinity;
  return {
    waited: (ms) => wait.observe(ms / 1000),
    refused: (reason) => {
      refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
      refused += 1;
      const now = performance.now();
      if (now - toldAt < tellEveryMs) return;
      log.warn({ reason, refused }, 'requests are refused: more are under way than the limits allow');
      toldAt = now;
      refused = 0;
    },
  };
}
