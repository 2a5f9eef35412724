import type { DashboardPlan, PanelPlan, RowPlan } from './grafana-dashboard.ts';

/** The processes selected in the dashboard. */
const here = 'namespace=~"$namespace", instance=~"$instance"';
const of = (metric: string, labels = ''): string => `${metric}{${here}${labels === '' ? '' : `, ${labels}`}}`;
const rate = (metric: string, labels = ''): string => `rate(${of(metric, labels)}[$__rate_interval])`;
const total = (metric: string, by: string, labels = ''): string => `sum by (${by}) (${rate(metric, labels)})`;
const mean = (histogram: string, by: string, labels = ''): string =>
  `${total(`${histogram}_sum`, by, labels)} / ${total(`${histogram}_count`, by, labels)}`;
const quantile = (q: number, histogram: string, by: string, labels = ''): string =>
  `histogram_quantile(${q}, ${total(`${histogram}_bucket`, by === '' ? 'le' : `${by}, le`, labels)})`;
const each = '{{instance}}';

const requests = 'http_server_request_duration_seconds';
const noProbes = 'http_route!~"/(livez|readyz|healthz|metrics)"';
const ofObjects = 'verb=~"get|create|update|patch|delete"';
const ofAccess = 'http_route=~"/api/v1/.+|/login/|/settings/.*"';
const share = (labels: string, by: string): string =>
  `${total(`${requests}_count`, by, `${labels}, ${noProbes}`)} / ${total(`${requests}_count`, by, noProbes)}`;

const number = (title: string, unit: string, expr: string, legend = title): PanelPlan => ({
  title,
  unit,
  lines: { [legend]: expr },
  isNumber: true,
});

const processes: RowPlan = {
  title: 'Processes',
  panels: [
    {
      title: 'Processor',
      unit: 'short',
      description: 'Cores; one process uses little more than one.',
      lines: { [each]: rate('process_cpu_seconds_total') },
    },
    {
      title: 'Memory, and its limit',
      unit: 'bytes',
      lines: { [each]: of('process_resident_memory_bytes'), [`limit ${each}`]: of('svc_memory_limit_bytes') },
    },
    {
      title: 'Heap, and its limit',
      unit: 'bytes',
      lines: { [each]: of('nodejs_heap_size_used_bytes'), [`limit ${each}`]: of('svc_heap_limit_bytes') },
    },
    { title: 'Event loop, p99 of its turns', unit: 's', lines: { [each]: of('nodejs_eventloop_lag_p99_seconds') } },
    {
      title: 'Garbage collection',
      unit: 'percentunit',
      description: 'Share of the time.',
      lines: { [each]: total('nodejs_gc_duration_seconds_sum', 'instance') },
    },
    { title: 'Open files', unit: 'short', lines: { [each]: of('process_open_fds') } },
  ],
};

const overview: DashboardPlan = {
  uid: 'svc-overview',
  title: 'svc / Overview',
  components: '.+',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Versions',
          unit: 'short',
          lines: { '{{version}}': `count by (version) (${of('svc_build_info')})` },
          isNumber: true,
        },
        number('Requests', 'reqps', `sum(${rate(`${requests}_count`, noProbes)})`),
        number(
          'Answered 5xx',
          'percentunit',
          `sum(${rate(`${requests}_count`, `http_response_status_code=~"5..", ${noProbes}`)}) / sum(${rate(`${requests}_count`, noProbes)}) or vector(0)`,
        ),
        number('Open watches', 'short', `sum(${of('svc_watches')})`),
        number('Objects', 'short', `sum(max by (group, resource) (${of('svc_objects')}))`),
        number('Alerts firing', 'short', 'count(ALERTS{alertname=~"Svc.+", alertstate="firing"}) or vector(0)'),
      ],
    },
    {
      title: 'What users feel',
      panels: [
        { title: 'Requests', unit: 'reqps', lines: { '{{job}}': total(`${requests}_count`, 'job', noProbes) } },
        {
          title: 'Answered 5xx',
          unit: 'percentunit',
          lines: { '{{job}}': share('http_response_status_code=~"5.."', 'job') },
        },
        {
          title: 'Refused with 429',
          unit: 'percentunit',
          lines: { '{{job}}': share('http_response_status_code="429"', 'job') },
        },
        {
          title: 'Reads and writes of one object',
          unit: 's',
          lines: { p50: quantile(0.5, requests, '', ofObjects), p99: quantile(0.99, requests, '', ofObjects) },
        },
        {
          title: 'Events of watches, from change to client, p99',
          unit: 's',
          lines: { 'written {{from}}': quantile(0.99, 'svc_watch_delay_seconds', 'from') },
        },
        {
          title: 'Restarts',
          unit: 'short',
          description: 'Within an hour.',
          lines: { [each]: `changes(${of('process_start_time_seconds')}[1h])` },
        },
      ],
    },
    {
      title: 'What is stored',
      panels: [
        {
          title: 'Objects of the ten largest models',
          unit: 'short',
          lines: { '{{resource}}.{{group}}': `topk(10, max by (group, resource) (${of('svc_objects')}))` },
        },
        {
          title: 'Disk of the ten largest models',
          unit: 'bytes',
          lines: { '{{resource}}.{{group}}': `topk(10, max by (group, resource) (${of('svc_model_size_bytes')}))` },
        },
        {
          title: 'History on disk, and its limit',
          unit: 'bytes',
          lines: {
            history: `max(${of('svc_change_log_size_bytes')})`,
            limit: `min(${of('svc_change_log_limit_bytes')})`,
          },
        },
        {
          title: 'Changes',
          unit: 'ops',
          lines: { 'revisions a second': `max(deriv(${of('svc_change_log_newest_revision')}[5m]))` },
        },
        {
          title: 'Connections to PostgreSQL',
          unit: 'short',
          lines: {
            '{{db_client_connection_state}}': `sum by (db_client_connection_state) (${of('db_client_connection_count')})`,
          },
        },
        {
          title: 'Time until certificates end',
          unit: 's',
          lines: { [each]: `${of('svc_tls_certificate_expiry_timestamp_seconds')} - time()` },
        },
      ],
    },
    processes,
  ],
};

const apiServer: DashboardPlan = {
  uid: 'svc-apiserver',
  title: 'svc / API server',
  components: 'apiserver',
  rows: [
    {
      title: 'Requests',
      panels: [
        { title: 'By verb', unit: 'reqps', lines: { '{{verb}}': total(`${requests}_count`, 'verb', noProbes) } },
        {
          title: 'By status',
          unit: 'reqps',
          lines: { '{{http_response_status_code}}': total(`${requests}_count`, 'http_response_status_code', noProbes) },
        },
        {
          title: 'Duration by verb, p99',
          unit: 's',
          description: 'Without watches, which count with their whole length.',
          lines: { '{{verb}}': quantile(0.99, requests, 'verb', `verb!="watch", ${noProbes}`) },
        },
        {
          title: 'Under way, and waiting',
          unit: 'short',
          lines: {
            [each]: `sum by (instance) (${of('http_server_active_requests')})`,
            [`waiting ${each}`]: of('svc_requests_waiting'),
          },
        },
        {
          title: 'Waited for others to end',
          unit: 's',
          lines: {
            p50: quantile(0.5, 'svc_request_wait_seconds', ''),
            p99: quantile(0.99, 'svc_request_wait_seconds', ''),
          },
        },
        {
          title: 'Refused, by the limit',
          unit: 'reqps',
          lines: { '{{reason}}': total('svc_requests_refused_total', 'reason') },
        },
        {
          title: 'Connections',
          unit: 'short',
          lines: {
            [each]: of('svc_http_connections'),
            [`refused a second ${each}`]: total('svc_http_connections_refused_total', 'instance'),
            [`TLS failed, a second: ${each}`]: total('svc_tls_handshakes_failed_total', 'instance'),
          },
        },
        {
          title: 'Bytes answered, and received',
          unit: 'Bps',
          lines: {
            answered: `sum(${rate('http_server_response_body_size_bytes_sum')})`,
            received: `sum(${rate('http_server_request_body_size_bytes_sum')})`,
          },
        },
        { title: 'Tokens looked up', unit: 'ops', lines: { '{{result}}': total('svc_token_lookups_total', 'result') } },
      ],
    },
    {
      title: 'Writes',
      panels: [
        {
          title: 'Writes and batches',
          unit: 'ops',
          lines: {
            writes: `sum(${rate('svc_write_batch_size_sum')})`,
            batches: `sum(${rate('svc_write_batch_size_count')})`,
            failed: `sum(${rate('svc_write_batches_failed_total')})`,
          },
        },
        {
          title: 'A batch, from sending to answer',
          unit: 's',
          lines: {
            p50: quantile(0.5, 'svc_write_batch_duration_seconds', ''),
            p99: quantile(0.99, 'svc_write_batch_duration_seconds', ''),
          },
        },
        { title: 'Writes that wait', unit: 'short', lines: { [each]: of('svc_write_queue_length') } },
        { title: 'Bytes that wait', unit: 'bytes', lines: { [each]: of('svc_write_queue_bytes') } },
      ],
    },
    {
      title: 'Watches and history',
      panels: [
        { title: 'Open watches', unit: 'short', lines: { [each]: of('svc_watches') } },
        { title: 'Events', unit: 'ops', lines: { [each]: rate('svc_watch_events_total') } },
        {
          title: 'From change to client, p99',
          unit: 's',
          lines: { [`${each} {{from}}`]: quantile(0.99, 'svc_watch_delay_seconds', 'instance, from') },
        },
        { title: 'Watches cut off', unit: 'ops', lines: { [each]: rate('svc_watches_disconnected_total') } },
        { title: 'Revisions behind', unit: 'short', lines: { [each]: of('svc_change_feed_lag_revisions') } },
        { title: 'Revision of the process', unit: 'short', lines: { [each]: of('svc_change_feed_revision') } },
        {
          title: 'Changes kept',
          unit: 'short',
          lines: {
            rows: `max(${of('svc_change_log_rows')})`,
            revisions: `max(${of('svc_change_log_newest_revision')} - ${of('svc_change_log_compacted_revision')})`,
          },
        },
        {
          title: 'Rounds that remove history',
          unit: 's',
          lines: { 'mean, {{outcome}}': mean('svc_compaction_duration_seconds', 'outcome') },
        },
        {
          title: 'Models, and indexes that are not ready',
          unit: 'short',
          lines: { models: `max(${of('svc_models')})`, '{{state}}': `max by (state) (${of('svc_index_builds')})` },
        },
      ],
    },
    {
      title: 'PostgreSQL',
      panels: [
        {
          title: 'Statements, the ten most frequent',
          unit: 'ops',
          lines: {
            '{{db_operation_name}} {{db_query_summary}}': `topk(10, ${total('db_client_operation_duration_seconds_count', 'db_operation_name, db_query_summary')})`,
          },
        },
        {
          title: 'Statements, the ten that take most time',
          unit: 'percentunit',
          description: 'Connections that are busy with it, on average.',
          lines: {
            '{{db_operation_name}} {{db_query_summary}}': `topk(10, ${total('db_client_operation_duration_seconds_sum', 'db_operation_name, db_query_summary')})`,
          },
        },
        {
          title: 'Statements that failed',
          unit: 'ops',
          lines: {
            '{{error_type}}': total('db_client_operation_duration_seconds_count', 'error_type', 'error_type!=""'),
          },
        },
        {
          title: 'Connections in use, of the most there may be',
          unit: 'percentunit',
          lines: {
            '{{db_client_connection_pool_name}}': `max by (db_client_connection_pool_name) (${of('db_client_connection_count', 'db_client_connection_state="used"')} / on (namespace, instance, db_client_connection_pool_name) ${of('db_client_connection_max')})`,
          },
        },
        {
          title: 'Wait for a connection, mean',
          unit: 's',
          lines: {
            '{{db_client_connection_pool_name}}': mean(
              'db_client_connection_wait_time_seconds',
              'db_client_connection_pool_name',
            ),
          },
        },
        {
          title: 'Who waits for a connection, and gave up',
          unit: 'short',
          lines: {
            'waits for {{db_client_connection_pool_name}}': `sum by (db_client_connection_pool_name) (${of('db_client_connection_pending_requests')})`,
            'gave up, a second: {{db_client_connection_pool_name}}': total(
              'db_client_connection_timeouts_total',
              'db_client_connection_pool_name',
            ),
          },
        },
        {
          title: 'Failures of the database, by name',
          unit: 'ops',
          lines: { '{{failure}}': total('svc_database_failures_total', 'failure') },
        },
        {
          title: 'Takes no writes',
          unit: 'short',
          description: 'Processes that found it so.',
          lines: { '{{failure}}': `sum by (failure) (${of('svc_database_writes_refused')})` },
        },
        { title: 'Snapshots of long lists', unit: 'short', lines: { [each]: of('svc_list_snapshots') } },
      ],
    },
    processes,
  ],
};

const accessAndControllers: DashboardPlan = {
  uid: 'svc-access-controllers',
  title: 'svc / Access and controllers',
  components: '.+',
  rows: [
    {
      title: 'Access management',
      panels: [
        {
          title: 'Requests, the ten most frequent',
          unit: 'reqps',
          lines: {
            '{{http_request_method}} {{http_route}}': `topk(10, ${total(`${requests}_count`, 'http_request_method, http_route', ofAccess)})`,
          },
        },
        {
          title: 'By status',
          unit: 'reqps',
          lines: { '{{http_response_status_code}}': total(`${requests}_count`, 'http_response_status_code', ofAccess) },
        },
        {
          title: 'Duration',
          unit: 's',
          lines: { p50: quantile(0.5, requests, '', ofAccess), p99: quantile(0.99, requests, '', ofAccess) },
        },
        {
          title: 'Logins',
          unit: 'reqps',
          lines: {
            '{{http_response_status_code}}': total(
              `${requests}_count`,
              'http_response_status_code',
              'http_request_method="POST", http_route=~"/login/|/api/v1/authentication/(auth|tokens)/"',
            ),
          },
        },
        {
          title: 'A login, p99',
          unit: 's',
          lines: {
            [each]: quantile(
              0.99,
              requests,
              'instance',
              'http_request_method="POST", http_route=~"/login/|/api/v1/authentication/(auth|tokens)/"',
            ),
          },
        },
        {
          title: 'Credentials refused with 401',
          unit: 'reqps',
          lines: { [each]: total(`${requests}_count`, 'instance', 'http_response_status_code="401"') },
        },
      ],
    },
    {
      title: 'Controllers',
      panels: [
        { title: 'Who leads', unit: 'short', lines: { [each]: of('leader_election_master_status') } },
        {
          title: 'Reconciles',
          unit: 'ops',
          lines: { '{{controller}}': total('controller_runtime_reconcile_total', 'controller') },
        },
        {
          title: 'Failed',
          unit: 'ops',
          lines: {
            '{{controller}}': total('controller_runtime_reconcile_errors_total', 'controller'),
            'for good: {{controller}}': total('controller_runtime_terminal_reconcile_errors_total', 'controller'),
            'too long: {{controller}}': total('controller_runtime_reconcile_timeouts_total', 'controller'),
          },
        },
        {
          title: 'A reconcile, p99',
          unit: 's',
          lines: { '{{controller}}': quantile(0.99, 'controller_runtime_reconcile_time_seconds', 'controller') },
        },
        {
          title: 'Waiting to be looked at',
          unit: 'short',
          lines: { '{{name}}': `sum by (name) (${of('workqueue_depth')})` },
        },
        {
          title: 'How long it waited, mean',
          unit: 's',
          lines: { '{{name}}': mean('workqueue_queue_duration_seconds', 'name') },
        },
        {
          title: 'Added, and added again',
          unit: 'ops',
          lines: {
            '{{name}}': total('workqueue_adds_total', 'name'),
            'again: {{name}}': total('workqueue_retries_total', 'name'),
          },
        },
        {
          title: 'How long it was worked on, mean',
          unit: 's',
          lines: { '{{name}}': mean('workqueue_work_duration_seconds', 'name') },
        },
      ],
    },
    {
      title: 'Plugins',
      panels: [
        { title: 'By phase', unit: 'short', lines: { '{{phase}}': `sum by (phase) (${of('svc_plugins')})` } },
        {
          title: 'Workers that ended',
          unit: 'short',
          description: 'Within an hour.',
          lines: { '{{plugin}}': `sum by (plugin) (increase(${of('svc_plugin_restarts_total')}[1h]))` },
        },
        { title: 'A start, mean', unit: 's', lines: { [each]: mean('svc_plugin_start_seconds', 'instance') } },
      ],
    },
    processes,
  ],
};

/** By file name in the chart. */
export const dashboards: Readonly<Record<string, DashboardPlan>> = {
  'svc-overview.json': overview,
  'svc-apiserver.json': apiServer,
  'svc-access-controllers.json': accessAndControllers,
};
