import type { Incident } from '../incident.ts';
import { assertWritesRefused } from './database-disk.ts';

export const databaseTakesNoWrites: readonly Incident[] = [
  {
    alert: 'SvcDatabaseTakesNoWrites',
    cause: 'read_only',
    intent: 'default_transaction_read_only is on; it is switched off.',
    brings: ['SvcApiErrors', 'SvcControllersNotLed', 'SvcControllersBehind'],
    logs: ['PostgreSQL takes no writes: ...'],
    provoke: async (site) => {
      await site.sql('ALTER DATABASE svc SET default_transaction_read_only = on');
      await site.endSessions();
      return async () => {
        await site.postgres.query('ALTER DATABASE svc RESET default_transaction_read_only');
        await site.endSessions();
      };
    },
    look: assertWritesRefused,
  },
  {
    alert: 'SvcDatabaseTakesNoWrites',
    cause: 'standby',
    intent: 'Commits wait for a synchronous standby that is missing; it is taken out.',
    brings: ['SvcApiErrors', 'SvcApiSlow', 'SvcDatabaseSlow', 'SvcControllersNotLed', 'SvcControllersBehind'],
    logs: ['PostgreSQL takes no writes: ...'],
    provoke: async (site) => {
      await site.sql("ALTER SYSTEM SET synchronous_standby_names = 'missing'");
      await site.sql('SELECT pg_reload_conf()');
      return async () => {
        await site.sql("ALTER SYSTEM SET synchronous_standby_names = ''");
        await site.sql('SELECT pg_reload_conf()');
      };
    },
    look: assertWritesRefused,
  },
];
