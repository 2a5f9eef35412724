import { sumOf, type Metrics } from './parse-metrics.ts';

/** What one answer of `/metrics` told, and when. */
export interface MetricsReading {
  metrics: Metrics;
  /** Milliseconds, of a clock that only goes forward. */
  at: number;
}

/** Per second since the reading before. Undefined: there is none, or it is of another process. */
export function rateOf(name: string, now: MetricsReading, before: MetricsReading | undefined): number | undefined {
  const change = changeOf(name, now, before);
  return change === undefined ? undefined : change / ((now.at - before!.at) / 1000);
}

/** The mean of a histogram since the reading before. */
export function meanOf(name: string, now: MetricsReading, before: MetricsReading | undefined): number | undefined {
  const count = changeOf(`${name}_count`, now, before);
  const total = changeOf(`${name}_sum`, now, before);
  return count === undefined || total === undefined || count === 0 ? undefined : total / count;
}

function changeOf(name: string, now: MetricsReading, before: MetricsReading | undefined): number | undefined {
  if (before === undefined || before.at >= now.at) return undefined;
  const started = 'process_start_time_seconds';
  if (sumOf(now.metrics, started) !== sumOf(before.metrics, started)) return undefined;
  const value = sumOf(now.metrics, name);
  return value === undefined ? undefined : value - (sumOf(before.metrics, name) ?? 0);
}
