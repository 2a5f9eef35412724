import { Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { TokenStore } from '#pkg/access/index';
import { webhookOutcomes, type WebhookObserver } from '#pkg/apiserver/index';
import { durationBuckets, registerReading, SeriesHistogram } from '#pkg/http/index';
import { DatabaseMetrics } from './database-metrics.ts';
import { registerProcessMetrics } from './process-metrics.ts';
import { StoreMetrics } from './store-metrics.ts';
import { WatchMetrics } from './watch-metrics.ts';

/** All metrics except those of the HTTP filters. */
export class PlatformMetrics {
  readonly registry = new Registry();
  readonly database: DatabaseMetrics;
  readonly store: StoreMetrics;
  readonly watches: WatchMetrics;
  /** Observer of maintenance: called after every compaction round. */
  readonly compacted: (ms: number, failed: boolean) => void;
  readonly webhookCalled: WebhookObserver;
  /** Called with the number of audit records that were dropped. */
  readonly auditDropped: (count: number) => void;
  /** Called with the number of audit events that their file did not get. */
  readonly auditFileDropped: (count: number) => void;
  readonly #lookups = { found: 0, unknown: 0, failed: 0 };

  /** `workers`: how many share this machine. */
  constructor(log: Logger, { workers = 1 }: { workers?: number | undefined } = {}) {
    const { registry } = this;
    registerProcessMetrics(registry, 'apiserver', workers);
    this.database = new DatabaseMetrics(registry);
    this.store = new StoreMetrics(registry, log);
    this.watches = new WatchMetrics(registry);
    const rounds = new SeriesHistogram({
      name: 'svc_compaction_duration_seconds',
      help: 'Rounds that removed old history.',
      labelNames: ['outcome'],
      buckets: [...durationBuckets, 60, 300],
      registry,
    });
    const [done, failed] = [rounds.series({ outcome: 'done' }), rounds.series({ outcome: 'failed' })];
    this.auditDropped = this.#registerCount(
      'svc_audit_records_dropped_total',
      'Audit records of requests that wrote nothing, dropped because their queue was full.',
    );
    this.auditFileDropped = this.#registerCount(
      'svc_audit_file_events_dropped_total',
      'Audit events that svc.audit.log-file did not get, because it could not be written.',
    );
    const calls = new SeriesHistogram({
      name: 'svc_conversion_webhook_duration_seconds',
      help: 'Calls of conversion webhooks.',
      labelNames: ['outcome'],
      buckets: durationBuckets,
      registry,
    });
    const callsBy = new Map(webhookOutcomes.map((outcome) => [outcome, calls.series({ outcome })]));
    this.webhookCalled = (ms, outcome) => callsBy.get(outcome)!.observe(ms / 1000);
    this.compacted = (ms, hasFailed) => (hasFailed ? failed : done).observe(ms / 1000);
  }

  #registerCount(name: string, help: string): (count: number) => void {
    let total = 0;
    registerReading({ registry: this.registry, type: 'counter', name, help, read: () => total });
    return (count) => {
      total += count;
    };
  }

  registerAudit(waiting: () => number): void {
    registerReading({
      registry: this.registry,
      type: 'gauge',
      name: 'svc_audit_records_waiting',
      help: 'Audit records of requests that wrote nothing, waiting to be stored.',
      read: waiting,
    });
  }

  registerModelCount(count: () => number): void {
    registerReading({
      registry: this.registry,
      type: 'gauge',
      name: 'svc_models',
      help: 'Models that are served.',
      read: count,
    });
  }

  /** Size limit of the history, whatever its age. */
  registerLogLimit(bytes: number): void {
    registerReading({
      registry: this.registry,
      type: 'gauge',
      name: 'svc_change_log_limit_bytes',
      help: 'The log of changes is cut to this size, as svc.storage.log-max-size says.',
      read: () => bytes,
    });
  }

  /** Wraps the store to count its lookups. */
  countLookups(tokens: Pick<TokenStore, 'findOwner'>): Pick<TokenStore, 'findOwner'> {
    const counts = this.#lookups;
    registerReading({
      registry: this.registry,
      type: 'counter',
      name: 'svc_token_lookups_total',
      help: 'Tokens looked up in the database; requests that come at once share one.',
      read: () => Object.entries(counts).map(([result, value]) => ({ labels: { result }, value })),
    });
    return {
      findOwner: async (hash) => {
        let result: keyof typeof counts = 'failed';
        try {
          const owner = await tokens.findOwner(hash);
          result = owner === undefined ? 'unknown' : 'found';
          return owner;
        } finally {
          counts[result] += 1;
        }
      },
    };
  }
}
