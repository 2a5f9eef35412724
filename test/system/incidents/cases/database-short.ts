import type pg from 'pg';
import type { Incident } from '../incident.ts';
import { role } from '../site/incident-site.ts';

export const databaseShort: readonly Incident[] = [
  {
    alert: 'SvcDatabaseShort',
    cause: 'connections',
    intent: 'Other clients take all connections of PostgreSQL; they are ended.',
    brings: ['SvcApiErrors', 'SvcNotReady', 'SvcDatabaseLost', 'SvcControllersNotLed', 'SvcControllersBehind'],
    settings: { max_connections: '60' },
    provoke: async (site) => {
      await site.endSessions();
      const strangers: pg.Client[] = [];
      // Those kept for superusers are left.
      const take = async (): Promise<void> => {
        for (;;) strangers.push(await site.session({ user: role }));
      };
      for (let i = 0; i < 3; i += 1) {
        await take().catch(() => undefined);
        await site.postgres.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}' AND application_name LIKE 'svc %'`,
        );
      }
      await take().catch(() => undefined);
      return async () => {
        // The page's query names them: they have no name of svc.
        const [most] = await site.sql<{ application_name: string; count: string }>(
          'SELECT usename, application_name, count(*) FROM pg_stat_activity GROUP BY 1, 2 ORDER BY 3 DESC',
        );
        if (most!.application_name.startsWith('svc '))
          throw new Error(`most connections are of ${most!.application_name}`);
        await site.sql(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${most!.application_name}' AND usename = '${role}'`,
        );
      };
    },
    look: (site) => site.untilMetric('svc_database_failures_total{failure="too_many_connections"}'),
  },
  {
    alert: 'SvcDatabaseShort',
    cause: 'limit',
    intent: 'The role of svc may have fewer temporary files than its lists need; it may have more.',
    brings: ['SvcApiErrors', 'SvcNotReady', 'SvcControllersNotLed'],
    provoke: async (site) => {
      await site.sql(`ALTER ROLE ${role} SET temp_file_limit = '0'`);
      await site.endSessions();
      return async () => {
        await site.sql(`ALTER ROLE ${role} RESET temp_file_limit`);
        await site.endSessions();
      };
    },
    look: (site) => site.untilMetric('svc_database_failures_total{failure="resource_limit"}'),
  },
];
