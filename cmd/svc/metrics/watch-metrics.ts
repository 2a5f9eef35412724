import type { Registry } from 'prom-client';
import type { WatchObserver } from '#pkg/apiserver/index';
import { durationBuckets, registerReading, SeriesHistogram, type HistogramSeries } from '#pkg/http/index';

/** Counts in plain variables, because there may be hundreds of thousands of events a second. */
export class WatchMetrics implements WatchObserver {
  readonly #delays: Record<'own' | 'log', HistogramSeries>;
  #open = 0;
  #events = 0;
  #slow = 0;

  constructor(registry: Registry) {
    const delay = new SeriesHistogram({
      name: 'svc_watch_delay_seconds',
      help: 'From a change to its having been given to the last of its watchers.',
      labelNames: ['from'],
      buckets: durationBuckets,
      registry,
    });
    this.#delays = { own: delay.series({ from: 'own' }), log: delay.series({ from: 'log' }) };
    registerReading({
      registry,
      type: 'gauge',
      name: 'svc_watches',
      help: 'Watches that are open.',
      read: () => this.#open,
    });
    registerReading({
      registry,
      type: 'counter',
      name: 'svc_watch_events_total',
      help: 'Events given to connections.',
      read: () => this.#events,
    });
    registerReading({
      registry,
      type: 'counter',
      name: 'svc_watches_disconnected_total',
      help: 'Watches ended because their client did not keep up.',
      read: () => this.#slow,
    });
  }

  began(): void {
    this.#open += 1;
  }

  ended(how: 'slow' | 'over'): void {
    this.#open -= 1;
    if (how === 'slow') this.#slow += 1;
  }

  sent(): void {
    this.#events += 1;
  }

  delivered(from: 'own' | 'log', ms: number): void {
    this.#delays[from].observe(ms / 1000);
  }
}
