import type { Registry } from 'prom-client';
import type { Logger } from 'pino';
import { durationBuckets, registerReading, SeriesHistogram, type HistogramSeries, type Reading } from '#pkg/http/index';
import type { BatchReport, PostgresStore, StandbyState, StoreMeasures, StoreObserver } from '#pkg/storage/index';
import { Measurement } from './measurement.ts';

const batchSizes = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** Metrics of the store; with log level debug also a log line for each batch and each write in it. */
export class StoreMetrics implements StoreObserver {
  readonly #registry: Registry;
  readonly #log: Logger;
  readonly #sizes: HistogramSeries;
  readonly #durations: HistogramSeries;
  #failed = 0;

  constructor(registry: Registry, log: Logger) {
    this.#registry = registry;
    this.#log = log;
    this.#sizes = new SeriesHistogram({
      name: 'svc_write_batch_size',
      help: 'Writes that went to the database in one statement.',
      labelNames: [],
      buckets: batchSizes,
      registry,
    }).series({});
    this.#durations = new SeriesHistogram({
      name: 'svc_write_batch_duration_seconds',
      help: 'From when a batch was sent to its answer.',
      labelNames: [],
      buckets: durationBuckets,
      registry,
    }).series({});
    registerReading({
      registry,
      type: 'counter',
      name: 'svc_write_batches_failed_total',
      help: 'Batches that were refused, or had no answer.',
      read: () => this.#failed,
    });
  }

  batch(report: BatchReport): void {
    this.#sizes.observe(report.size);
    this.#durations.observe(report.ms / 1000);
    if (report.failed) this.#failed += 1;
    if (this.#log.isLevelEnabled('debug')) this.#tell(report);
  }

  /** Registers gauges of the store's own state and of values that it queries from PostgreSQL. */
  register(store: Pick<PostgresStore, 'state' | 'measure'>): void {
    const gauge = (name: string, help: string, read: () => number): void =>
      registerReading({ registry: this.#registry, type: 'gauge', name, help, read });
    gauge('svc_write_queue_length', 'Writes that wait for the next batch.', () => store.state().queueLength);
    gauge('svc_write_queue_bytes', 'Bytes of the writes that wait.', () => store.state().queueBytes);
    gauge('svc_list_snapshots', 'Snapshots held by long lists.', () => store.state().snapshots);
    gauge('svc_change_feed_revision', 'Newest change this process has heard of.', () => store.state().cursor);
    this.#registerStandby(() => store.state().standby);
    const measurement = new Measurement(() => store.measure(), this.#log);
    const measured = (name: string, help: string, read: (measures: StoreMeasures) => number | Reading[]): void =>
      registerReading({
        registry: this.#registry,
        type: 'gauge',
        name,
        help,
        read: async () => {
          const measures = await measurement.take();
          if (measures === undefined) return [];
          const value = read(measures);
          return typeof value === 'number' ? [{ value }] : value;
        },
      });
    measured('svc_change_log_newest_revision', 'Newest change in the database.', ({ newest }) => newest);
    measured(
      'svc_change_log_compacted_revision',
      'Changes up to here are no longer kept.',
      ({ compacted }) => compacted,
    );
    measured('svc_change_feed_lag_revisions', 'Revisions this process has yet to hear of.', ({ newest }) =>
      Math.max(0, newest - store.state().cursor),
    );
    measured('svc_change_log_rows', 'Changes kept, as PostgreSQL estimates.', ({ logRows }) => logRows);
    measured('svc_change_log_size_bytes', 'The log of changes on disk, indexes included.', ({ logBytes }) => logBytes);
    measured('svc_objects', 'Objects of a model, as PostgreSQL estimates.', ({ models }) =>
      models.map(({ group, resource, objects }) => ({ labels: { group, resource }, value: objects })),
    );
    measured('svc_model_size_bytes', 'A model on disk, indexes included.', ({ models }) =>
      models.map(({ group, resource, bytes }) => ({ labels: { group, resource }, value: bytes })),
    );
    measured('svc_index_builds', 'Indexes that are not ready.', ({ indexes }) =>
      (['building', 'failed'] as const).map((state) => ({ labels: { state }, value: indexes[state] })),
    );
  }

  /** Without values on a server that reads from the primary. */
  #registerStandby(state: () => StandbyState | undefined): void {
    const register = (
      type: 'gauge' | 'counter',
      name: string,
      help: string,
      of: (state: StandbyState) => number,
    ): void =>
      registerReading({
        registry: this.#registry,
        type,
        name,
        help,
        read: () => {
          const standby = state();
          return standby === undefined ? [] : [{ value: of(standby) }];
        },
      });
    register(
      'gauge',
      'svc_standby_lag_seconds',
      'Since the standby that answers reads was last seen with everything that the primary had.',
      ({ lagMs }) => lagMs / 1000,
    );
    register(
      'gauge',
      'svc_standby_lag_revisions',
      'Revisions that it does not show yet.',
      ({ lagRevisions }) => lagRevisions,
    );
    register('counter', 'svc_standby_waits_total', 'Reads that waited for it.', ({ waits }) => waits);
    register('counter', 'svc_standby_refusals_total', 'Reads for which it was too late.', ({ refusals }) => refusals);
  }

  #tell({ id, size, bytes, ms, failed, writes }: BatchReport): void {
    const log = this.#log;
    for (const { requestId, revision } of writes()) {
      if (requestId !== undefined)
        log.debug(
          { requestId, batch: id, ...(revision === undefined ? {} : { revision }) },
          revision === undefined ? 'not written' : 'written',
        );
    }
    log.debug({ batch: id, writes: size, bytes, ms: Math.round(ms * 100) / 100, failed }, 'batch');
  }
}
