import { connect } from 'node:net';
import { FaultProxy } from '../../harness/process/fault-proxy.ts';
import type { Incident } from '../incident.ts';

const notes = '/apis/incidents.example.com/v1/namespaces/traffic/notes';

/** Each piece of an answer of PostgreSQL arrives so much later, one after another. */
const delayMs = 700;

export const watchEventsLate: readonly Incident[] = [
  {
    alert: 'SvcWatchEventsLate',
    severity: 'critical',
    // A scrape asks PostgreSQL, which takes 1.4 s.
    speed: 12,
    intent: 'The way from one of two API servers to PostgreSQL lets little through; it is fast again.',
    brings: ['SvcDatabaseSlow', 'SvcWatchEventsLate'],
    provoke: async (site) => {
      const way = await FaultProxy.start(site.postgres.socketPath);
      site.onRemove(() => way.stop());
      const second = await site.add('apiserver', {
        name: 'second',
        args: [`--svc.database.url=${site.databaseUrl({ port: way.port })}`],
      });
      await second.start();
      await site.scrape();
      const watcher = connect(second.port, '127.0.0.1');
      watcher.on('error', () => watcher.destroy());
      watcher.resume();
      site.onRemove(() => void watcher.destroy());
      watcher.write(
        `GET ${notes}?watch=true HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${site.token}\r\n\r\n`,
      );
      await way.setMode({ type: 'slow', delayMs });
      return () => way.setMode({ type: 'open' });
    },
    look: async (site) => {
      await site.untilMetric('svc_watch_delay_seconds_count{from="log"}');
      const mean = (instance: string): string =>
        `sum(rate(db_client_operation_duration_seconds_sum{instance="${instance}"}[10s])) / sum(rate(db_client_operation_duration_seconds_count{instance="${instance}"}[10s]))`;
      await site.untilMetric(mean(`127.0.0.1:${site.members[1]!.port}`), 1);
    },
  },
];
