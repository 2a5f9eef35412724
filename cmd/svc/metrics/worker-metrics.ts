import type { Registry } from 'prom-client';
import { registerReading } from '#pkg/http/index';

export interface WorkerMetricsOptions {
  /** How many workers there should be; 1 for a server without any. */
  count: number;
  serving: () => number;
  restarts: () => number;
}

/** How the workers of a server are. */
export function registerWorkerMetrics(registry: Registry, { count, serving, restarts }: WorkerMetricsOptions): void {
  registerReading({
    registry,
    type: 'gauge',
    name: 'svc_workers',
    help: 'Workers of this server, by whether they serve.',
    read: () => [
      { labels: { state: 'serving' }, value: serving() },
      { labels: { state: 'away' }, value: count - serving() },
    ],
  });
  registerReading({
    registry,
    type: 'counter',
    name: 'svc_worker_restarts_total',
    help: 'Workers that ended without being asked to, and were started again.',
    read: restarts,
  });
}
