import type { Registry } from 'prom-client';
import {
  databaseFailures,
  writeRefusals,
  type DatabaseFailure,
  type DatabaseObserver,
  type PoolState,
  type WriteMonitor,
} from '#pkg/database/index';
import { durationBuckets, registerReading, SeriesHistogram, type HistogramSeries, type Reading } from '#pkg/http/index';

const system = { db_system_name: 'postgresql' };

/** Source of the names: OpenTelemetry semantic conventions for database clients, as Prometheus spells them. */
export class DatabaseMetrics implements DatabaseObserver {
  readonly #duration: SeriesHistogram<'db_system_name' | 'db_operation_name' | 'db_query_summary' | 'error_type'>;
  readonly #wait: SeriesHistogram<'db_client_connection_pool_name'>;
  readonly #statements = new Map<string, HistogramSeries>();
  readonly #waits = new Map<string, HistogramSeries>();
  readonly #timeouts = new Map<string, number>();
  readonly #failures = new Map<DatabaseFailure, number>();
  #writes: Pick<WriteMonitor, 'suspect'> | undefined;
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
    this.#duration = new SeriesHistogram({
      name: 'db_client_operation_duration_seconds',
      help: 'Duration of statements, from when a connection was given one to its answer.',
      labelNames: ['db_system_name', 'db_operation_name', 'db_query_summary', 'error_type'],
      buckets: durationBuckets,
      registry,
    });
    this.#wait = new SeriesHistogram({
      name: 'db_client_connection_wait_time_seconds',
      help: 'Time it took to obtain a connection from its pool.',
      labelNames: ['db_client_connection_pool_name'],
      buckets: durationBuckets,
      registry,
    });
    registerReading({
      registry,
      type: 'counter',
      name: 'svc_database_failures_total',
      help: 'Statements and connections that failed because of the database itself.',
      read: () => databaseFailures.map((failure) => ({ labels: { failure }, value: this.#failures.get(failure) ?? 0 })),
    });
  }

  statement(operation: string, summary: string, ms: number, failure: string | undefined): void {
    // Summaries are in lower case, operations in upper case, so that they cannot be confused.
    const what = summary === '' ? operation : summary;
    const key = failure === undefined ? what : `${what} ${failure}`;
    let series = this.#statements.get(key);
    if (series === undefined) {
      series = this.#duration.series({
        ...system,
        db_operation_name: operation,
        db_query_summary: summary,
        error_type: failure ?? '',
      });
      this.#statements.set(key, series);
    }
    series.observe(ms / 1000);
  }

  waited(pool: string, ms: number): void {
    let series = this.#waits.get(pool);
    if (series === undefined)
      this.#waits.set(pool, (series = this.#wait.series({ db_client_connection_pool_name: pool })));
    series.observe(ms / 1000);
  }

  timedOut(pool: string): void {
    this.#timeouts.set(pool, (this.#timeouts.get(pool) ?? 0) + 1);
  }

  failed(failure: DatabaseFailure): void {
    this.#failures.set(failure, (this.#failures.get(failure) ?? 0) + 1);
    this.#writes?.suspect(failure);
  }

  /** Shows whether PostgreSQL accepts writes, and makes the monitor check it after a refused statement. */
  registerWrites(monitor: Pick<WriteMonitor, 'refusal' | 'suspect'>): void {
    this.#writes = monitor;
    registerReading({
      registry: this.#registry,
      type: 'gauge',
      name: 'svc_database_writes_refused',
      help: '1 for the reason why PostgreSQL takes no writes at present.',
      read: () => writeRefusals.map((failure) => ({ labels: { failure }, value: monitor.refusal === failure ? 1 : 0 })),
    });
  }

  /** Shows the pools at the time of the scrape. */
  registerPools(states: () => readonly PoolState[]): void {
    const registry = this.#registry;
    const timeouts = this.#timeouts;
    const each =
      (read: (state: PoolState) => Reading[]): (() => Reading[]) =>
      () =>
        states().flatMap(read);
    const of = ({ pool }: PoolState): { db_client_connection_pool_name: string } => ({
      db_client_connection_pool_name: pool,
    });
    registerReading({
      registry,
      type: 'gauge',
      name: 'db_client_connection_count',
      help: 'Connections of a pool, by state.',
      read: each((state) =>
        (['used', 'idle'] as const).map((name) => ({
          labels: { ...of(state), db_client_connection_state: name },
          value: state[name],
        })),
      ),
    });
    registerReading({
      registry,
      type: 'gauge',
      name: 'db_client_connection_max',
      help: 'Most connections a pool may have.',
      read: each((state) => [{ labels: of(state), value: state.max }]),
    });
    registerReading({
      registry,
      type: 'gauge',
      name: 'db_client_connection_pending_requests',
      help: 'Requests that wait for a connection.',
      read: each((state) => [{ labels: of(state), value: state.pending }]),
    });
    registerReading({
      registry,
      type: 'counter',
      name: 'db_client_connection_timeouts_total',
      help: 'Requests for a connection that were given up.',
      read: each((state) => [{ labels: of(state), value: timeouts.get(state.pool) ?? 0 }]),
    });
  }
}
