import type { Gauge, Registry } from 'prom-client';

/** A value and its labels. */
export interface Reading {
  labels?: Readonly<Record<string, string | number>>;
  value: number;
}

export interface RegisterReadingOptions {
  registry: Registry;
  name: string;
  help: string;
  type: 'counter' | 'gauge';
  /** Called at every scrape. Returns no reading if the value is unknown now; must not throw. */
  readonly read: () => number | readonly Reading[] | Promise<readonly Reading[]>;
}

/**
 * Registers a metric whose value is kept elsewhere: counting is then an addition, and labels missing from the reading
 * disappear from the metric. A second reading of the same name replaces the first: a part that is opened again registers
 * its own.
 */
export function registerReading({ registry, name, help, type, read }: RegisterReadingOptions): void {
  const get = async (): Promise<object> => {
    const readings = await read();
    const values =
      typeof readings === 'number'
        ? [{ value: readings, labels: {} }]
        : readings.map(({ value, labels = {} }) => ({ value, labels }));
    return { name, help, type, values, aggregator: 'sum' };
  };
  // The registry uses only a metric's name and `get`; its type requires prom-client's own classes.
  registry.removeSingleMetric(name);
  registry.registerMetric({ name, help, get, reset: () => {} } as unknown as Gauge);
}
