import type { Gauge, Registry } from 'prom-client';

/** A value and what tells it from the metric's others. */
export interface Reading {
  labels?: Readonly<Record<string, string | number>>;
  value: number;
}

export interface ReadingOptions {
  registry: Registry;
  name: string;
  help: string;
  type: 'counter' | 'gauge';
  /** Asked at every scrape. None at all where it cannot be known now; must not throw. */
  readonly read: () => number | readonly Reading[] | Promise<readonly Reading[]>;
}

/**
 * Registers a metric whose value is kept elsewhere: to count costs an addition there, and labels that are gone from the
 * reading are gone from the metric.
 */
export function registerReading({ registry, name, help, type, read }: ReadingOptions): void {
  const get = async (): Promise<object> => {
    const readings = await read();
    const values =
      typeof readings === 'number'
        ? [{ value: readings, labels: {} }]
        : readings.map(({ value, labels = {} }) => ({ value, labels }));
    return { name, help, type, values, aggregator: 'sum' };
  };
  // The registry asks its metrics for no more than their name and `get`; its type names prom-client's own classes.
  registry.registerMetric({ name, help, get, reset: () => {} } as unknown as Gauge);
}
