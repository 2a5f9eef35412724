import type { Registry } from 'prom-client';
import { durationBuckets, registerReading, SeriesHistogram, type HistogramSeries } from '#pkg/http/index';
import type { PluginHost, PluginObserver } from '#pkg/plugin/index';

/** Metrics of the plugin host. */
export class PluginMetrics implements PluginObserver {
  readonly #registry: Registry;
  readonly #starts: HistogramSeries;
  readonly #restarts = new Map<string, number>();

  constructor(registry: Registry) {
    this.#registry = registry;
    this.#starts = new SeriesHistogram({
      name: 'svc_plugin_start_seconds',
      help: 'Starts of plugins that succeeded.',
      labelNames: [],
      buckets: [...durationBuckets, 60, 300],
      registry,
    }).series({});
    registerReading({
      registry,
      type: 'counter',
      name: 'svc_plugin_restarts_total',
      help: 'Workers of plugins that ended by themselves.',
      read: () => Array.from(this.#restarts, ([plugin, value]) => ({ labels: { plugin }, value })),
    });
  }

  started(tookMs: number): void {
    this.#starts.observe(tookMs / 1000);
  }

  crashed(plugin: string): void {
    this.#restarts.set(plugin, (this.#restarts.get(plugin) ?? 0) + 1);
  }

  /** Shows the phases of the plugins that this process leads, at the time of the scrape. */
  register(host: Pick<PluginHost, 'phases'>): void {
    registerReading({
      registry: this.#registry,
      type: 'gauge',
      name: 'svc_plugins',
      help: 'Plugins, by phase.',
      read: () => Array.from(host.phases(), ([phase, value]) => ({ labels: { phase }, value })),
    });
  }
}
