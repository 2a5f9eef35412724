import type { Histogram, Registry } from 'prom-client';

export interface SeriesHistogramOptions<L extends string> {
  name: string;
  help: string;
  labelNames: readonly L[];
  /** Upper bounds, ascending. */
  buckets: readonly number[];
  registry: Registry;
}

/** From a fraction of a millisecond to the longest a request may take. Seconds. */
export const durationBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** From a small answer to the largest. Bytes. */
export const sizeBuckets = [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];

/** One combination of labels; a caller that observes often keeps it. */
export class HistogramSeries<L extends string = string> {
  readonly labels: Readonly<Record<L, string | number>>;
  /** Not cumulative; the last counts values above all bounds. */
  readonly counts: number[];
  sum = 0;
  readonly #bounds: readonly number[];

  constructor(labels: Readonly<Record<L, string | number>>, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    const { counts } = this;
    let i = 0;
    while (i < bounds.length && value > bounds[i]!) i += 1;
    counts[i]! += 1;
    this.sum += value;
  }
}

interface Sample {
  metricName: string;
  labels: Record<string, string | number>;
  value: number;
}

/**
 * A histogram for observations at every request. prom-client's histogram sorts and joins the labels at each
 * observation, which costs as much as a filter; here this is done once, by the caller that keeps the series. A series
 * is never removed: labels must be from a bounded set.
 */
export class SeriesHistogram<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly #options: SeriesHistogramOptions<L>;
  readonly #all: HistogramSeries<L>[] = [];

  constructor(options: SeriesHistogramOptions<L>) {
    this.#options = options;
    this.name = options.name;
    this.help = options.help;
    // The registry uses only a metric's name and `get`; its type requires prom-client's own classes.
    options.registry.registerMetric(this as unknown as Histogram);
  }

  /** Creates a series, which the caller keeps: two with the same labels would be exported twice. */
  series(labels: Readonly<Record<L, string | number>>): HistogramSeries<L> {
    const series = new HistogramSeries(labels, this.#options.buckets);
    this.#all.push(series);
    return series;
  }

  /** In the form that prom-client's registry expects. */
  get(): Promise<object> {
    const { name, help } = this;
    return Promise.resolve({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: this.#all.flatMap((series) => this.#samples(series)),
    });
  }

  /** Called by the registry. */
  reset(): void {
    for (const series of this.#all) {
      series.counts.fill(0);
      series.sum = 0;
    }
  }

  #samples({ labels, counts, sum }: HistogramSeries<L>): Sample[] {
    const { name } = this;
    let count = 0;
    const buckets = counts.map((each, i): Sample => {
      count += each;
      return {
        metricName: `${name}_bucket`,
        labels: { ...labels, le: this.#options.buckets[i] ?? '+Inf' },
        value: count,
      };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}
