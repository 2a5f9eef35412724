import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Incident } from '../incident.ts';
import { endOldest } from './end-oldest.ts';
import { repeat } from '../repeat.ts';

export const databaseConflicts: readonly Incident[] = [
  {
    alert: 'SvcDatabaseConflicts',
    intent: 'A program that is not svc locks tables of svc in another order, again and again; its session is ended.',
    brings: ['SvcApiSlow', 'SvcApiErrors', 'SvcDatabaseSlow', 'SvcControllersBehind'],
    settings: { deadlock_timeout: '50ms' },
    provoke: async (site) => {
      const notes = await site.tableOfNotes();
      const stranger = await site.session();
      // PostgreSQL ends whoever notices the deadlock.
      await stranger.query("SET deadlock_timeout = '1min'");
      const end = repeat(site, async () => {
        await stranger
          .query('BEGIN; LOCK TABLE platform.change_log IN SHARE MODE')
          .then(() => delay(30))
          .then(() => stranger.query(`LOCK TABLE ${notes} IN SHARE MODE`))
          .then(() => stranger.query('COMMIT'))
          .catch(() => undefined);
        await delay(20);
      });
      return async () => {
        await endOldest(site, "query LIKE '%LOCK TABLE%'");
        await end();
      };
    },
    look: async (site) => {
      await site.untilMetric('svc_database_failures_total{failure="transaction_conflict"}', 60);
      const log = await readFile(join(site.postgres.folder, 'postgres.log'), 'utf8');
      if (!log.includes('deadlock detected')) throw new Error("PostgreSQL's log names no deadlock");
    },
  },
];
