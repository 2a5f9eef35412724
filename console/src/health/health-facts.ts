import { formatBytes, formatDuration, texts } from '../texts/texts.ts';
import { meanOf, rateOf, type MetricsReading } from './metrics-reading.ts';
import { sumOf, type Metrics } from './parse-metrics.ts';

export interface HealthFact {
  name: string;
  value: string;
  meaning: string;
  /** Somebody should look at it. */
  isWarning: boolean;
}

export interface HealthSection {
  title: string;
  facts: readonly HealthFact[];
}

export interface ControllerFact {
  name: string;
  waiting: number;
  done: number;
  failed: number;
}

type FactName = keyof typeof texts.health.facts;

/** What the metrics mean, in plain numbers. Numbers per second need the reading before. */
export function healthSections(now: MetricsReading, before: MetricsReading | undefined): HealthSection[] {
  const { metrics } = now;
  const { sections } = texts.health;
  const sum = (name: string, labels?: Readonly<Record<string, string>>): number | undefined =>
    sumOf(metrics, name, labels);
  const rate = (name: string): number | undefined => rateOf(name, now, before);
  const serverErrors = sumWhere(
    metrics,
    'http_server_request_duration_seconds_count',
    ({ http_response_status_code: code }) => code?.startsWith('5') === true,
  );
  const all: [title: string, facts: (HealthFact | undefined)[]][] = [
    [
      sections.process,
      [
        fact('memory', share(sum('process_resident_memory_bytes'), sum('svc_memory_limit_bytes'), formatBytes)),
        fact('processor', percent(rate('process_cpu_seconds_total'))),
        fact('eventLoop', seconds(sum('nodejs_eventloop_lag_p99_seconds'))),
      ],
    ],
    [
      sections.requests,
      [
        fact('requests', perSecond(rate('http_server_request_duration_seconds_count'))),
        fact('running', number(sum('http_server_active_requests'))),
        fact('waiting', number(sum('svc_requests_waiting'))),
        fact('serverErrors', number(serverErrors), serverErrors),
        fact('refused', number(sum('svc_requests_refused_total') ?? 0)),
        fact('connections', number(sum('svc_http_connections'))),
      ],
    ],
    [
      sections.watches,
      [
        fact('watches', number(sum('svc_watches'))),
        fact('watchEvents', perSecond(rate('svc_watch_events_total'))),
        fact('slowWatches', number(sum('svc_watches_disconnected_total'))),
      ],
    ],
    [
      sections.database,
      [
        fact(
          'databaseConnections',
          share(
            sum('db_client_connection_count', { db_client_connection_state: 'used' }),
            sum('db_client_connection_max'),
            texts.number,
          ),
        ),
        fact('databaseWaiting', number(sum('db_client_connection_pending_requests'))),
        fact('statements', perSecond(rate('db_client_operation_duration_seconds_count'))),
        fact('statementTime', seconds(meanOf('db_client_operation_duration_seconds', now, before))),
        fact('databaseFailures', number(sum('svc_database_failures_total')), sum('svc_database_failures_total')),
        fact('writesWaiting', number(sum('svc_write_queue_length'))),
      ],
    ],
    [
      sections.log,
      [
        fact('logSize', share(sum('svc_change_log_size_bytes'), sum('svc_change_log_limit_bytes'), formatBytes)),
        fact('logRows', number(sum('svc_change_log_rows'))),
        fact('logLag', number(sum('svc_change_feed_lag_revisions'))),
      ],
    ],
    [
      sections.models,
      [
        fact('models', number(sum('svc_models'))),
        fact('objects', number(sum('svc_objects'))),
        fact('indexesBuilding', number(sum('svc_index_builds', { state: 'building' }))),
        fact(
          'indexesFailed',
          number(sum('svc_index_builds', { state: 'failed' })),
          sum('svc_index_builds', { state: 'failed' }),
        ),
      ],
    ],
    [
      sections.controllers,
      [
        fact('queue', number(sum('workqueue_depth'))),
        fact('reconciles', perSecond(rate('controller_runtime_reconcile_total'))),
      ],
    ],
  ];
  return all
    .map(([title, facts]) => ({ title, facts: facts.filter((each) => each !== undefined) }))
    .filter(({ facts }) => facts.length > 0);
}

/** Every controller that this process may run, by name. */
export function controllerFacts(metrics: Metrics): ControllerFact[] {
  return (metrics.get('workqueue_depth') ?? [])
    .map(({ labels: { name = '' }, value }) => ({
      name,
      waiting: value,
      done: sumOf(metrics, 'controller_runtime_reconcile_total', { controller: name }) ?? 0,
      failed: sumOf(metrics, 'controller_runtime_reconcile_errors_total', { controller: name }) ?? 0,
    }))
    .toSorted((a, b) => a.name.localeCompare(b.name));
}

function sumWhere(
  metrics: Metrics,
  name: string,
  isWanted: (labels: Readonly<Record<string, string>>) => boolean,
): number | undefined {
  const samples = metrics.get(name);
  return samples?.filter(({ labels }) => isWanted(labels)).reduce((sum, { value }) => sum + value, 0);
}

/** A fact that a process does not have is left out: `svc apiserver` runs no controllers. */
function fact(name: FactName, value: string | undefined, warningCount = 0): HealthFact | undefined {
  if (value === undefined) return undefined;
  return { ...texts.health.facts[name], value, isWarning: warningCount > 0 };
}

function number(value: number | undefined): string | undefined {
  return value === undefined ? undefined : texts.number(value);
}

function perSecond(value: number | undefined): string {
  return value === undefined ? texts.health.soon : texts.health.perSecond(value);
}

function percent(value: number | undefined): string {
  return value === undefined ? texts.health.soon : texts.health.percent(value);
}

function seconds(value: number | undefined): string {
  return value === undefined ? texts.health.soon : formatDuration(value);
}

function share(
  value: number | undefined,
  limit: number | undefined,
  format: (value: number) => string,
): string | undefined {
  if (value === undefined) return undefined;
  return limit === undefined ? format(value) : texts.health.share(format(value), format(limit));
}
