import type { Registry } from 'prom-client';
import { durationBuckets, registerReading, SeriesHistogram } from '#pkg/http/index';
import type { ControllerObserver, ReconcileOutcome } from '#pkg/runtime/index';

type Result = 'success' | 'requeue_after' | 'error';

/** Maps outcomes to the labels of controller-runtime. */
const results: Record<ReconcileOutcome, Result> = {
  success: 'success',
  requeued: 'requeue_after',
  error: 'error',
  terminal: 'error',
  timeout: 'error',
};

interface Counts {
  depth: number;
  adds: number;
  retries: number;
  reconciles: Record<Result, number>;
  terminal: number;
  timeouts: number;
}

/**
 * Metrics of controllers and their queues. Source of the names: controller-runtime, `pkg/internal/controller/metrics`
 * and `pkg/metrics/workqueue.go`.
 */
export class ControllerMetrics {
  readonly #counts = new Map<string, Counts>();
  readonly #observers = new Map<string, ControllerObserver>();
  readonly #reconcileTime: SeriesHistogram<'controller'>;
  readonly #queueTime: SeriesHistogram<'name'>;
  readonly #workTime: SeriesHistogram<'name'>;
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
    const histogram = <Label extends string>(name: string, help: string, label: Label): SeriesHistogram<Label> =>
      new SeriesHistogram({ name, help, labelNames: [label], buckets: [...durationBuckets, 60, 300], registry });
    this.#reconcileTime = histogram('controller_runtime_reconcile_time_seconds', 'Reconciles.', 'controller');
    this.#queueTime = histogram(
      'workqueue_queue_duration_seconds',
      'From when a key was added to when it was taken.',
      'name',
    );
    this.#workTime = histogram(
      'workqueue_work_duration_seconds',
      'From when a key was taken to when its work was over.',
      'name',
    );
    const reading = (
      type: 'gauge' | 'counter',
      name: string,
      help: string,
      label: string,
      read: (counts: Counts) => number,
    ): void =>
      registerReading({
        registry,
        type,
        name,
        help,
        read: () =>
          Array.from(this.#counts, ([controller, counts]) => ({
            labels: { [label]: controller },
            value: read(counts),
          })),
      });
    registerReading({
      registry,
      type: 'counter',
      name: 'controller_runtime_reconcile_total',
      help: 'Reconciles, by how they ended.',
      read: () =>
        Array.from(this.#counts).flatMap(([controller, { reconciles }]) =>
          Object.entries(reconciles).map(([result, value]) => ({ labels: { controller, result }, value })),
        ),
    });
    reading(
      'counter',
      'controller_runtime_reconcile_errors_total',
      'Reconciles that failed.',
      'controller',
      ({ reconciles }) => reconciles.error,
    );
    reading(
      'counter',
      'controller_runtime_terminal_reconcile_errors_total',
      'Of them, those that are not tried again.',
      'controller',
      ({ terminal }) => terminal,
    );
    reading(
      'counter',
      'controller_runtime_reconcile_timeouts_total',
      'Of them, those that took too long.',
      'controller',
      ({ timeouts }) => timeouts,
    );
    reading('gauge', 'workqueue_depth', 'Keys that wait to be worked on.', 'name', ({ depth }) => depth);
    reading('counter', 'workqueue_adds_total', 'Keys that were added.', 'name', ({ adds }) => adds);
    reading(
      'counter',
      'workqueue_retries_total',
      'Keys that were added again after a failure.',
      'name',
      ({ retries }) => retries,
    );
  }

  /**
   * Shows which leases this process holds at the time of the scrape. Source of the name: controller-runtime,
   * `pkg/metrics/leaderelection.go`.
   */
  registerLeading(leads: Readonly<Record<string, () => boolean>>): void {
    registerReading({
      registry: this.#registry,
      type: 'gauge',
      name: 'leader_election_master_status',
      help: 'Does this process hold the lease, so that its controller runs?',
      read: () => Object.entries(leads).map(([name, holds]) => ({ labels: { name }, value: holds() ? 1 : 0 })),
    });
  }

  /** Returns the same observer for a name, so that a restarted controller continues its counts. */
  readonly observerFor = (name: string): ControllerObserver => {
    const known = this.#observers.get(name) ?? this.#newObserver(name);
    this.#observers.set(name, known);
    known.depth(0);
    return known;
  };

  #newObserver(name: string): ControllerObserver {
    const counts: Counts = {
      depth: 0,
      adds: 0,
      retries: 0,
      reconciles: { success: 0, requeue_after: 0, error: 0 },
      terminal: 0,
      timeouts: 0,
    };
    this.#counts.set(name, counts);
    const reconcileTime = this.#reconcileTime.series({ controller: name });
    const queueTime = this.#queueTime.series({ name });
    const workTime = this.#workTime.series({ name });
    return {
      depth: (keys) => {
        counts.depth = keys;
      },
      added: () => {
        counts.adds += 1;
      },
      taken: (waitedMs) => queueTime.observe(waitedMs / 1000),
      done: (workedMs) => workTime.observe(workedMs / 1000),
      retried: () => {
        counts.retries += 1;
      },
      reconciled: (outcome, tookMs) => {
        counts.reconciles[results[outcome]] += 1;
        if (outcome === 'terminal') counts.terminal += 1;
        if (outcome === 'timeout') counts.timeouts += 1;
        reconcileTime.observe(tookMs / 1000);
      },
    };
  }
}
