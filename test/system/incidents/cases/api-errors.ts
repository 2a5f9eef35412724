import type { Incident } from '../incident.ts';
import { role } from '../site/incident-site.ts';

export const apiErrors: readonly Incident[] = [
  {
    alert: 'SvcApiErrors',
    severity: 'critical',
    intent: 'A setting of the role makes PostgreSQL end every statement after 1 ms; it is taken back.',
    brings: ['SvcApiErrors', 'SvcControllersNotLed', 'SvcControllersBehind', 'SvcHistoryOffLimits'],
    provoke: async (site) => {
      await site.sql(`ALTER ROLE ${role} SET statement_timeout = '1ms'`);
      await site.endSessions();
      return async () => {
        await site.sql(`ALTER ROLE ${role} RESET statement_timeout`);
        await site.endSessions();
      };
    },
    look: (site) => site.untilMetric('svc_database_failures_total{failure="statement_timeout"}'),
  },
];
