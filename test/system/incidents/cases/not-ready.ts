import { migrationLock } from '#pkg/database/index';
import type { Incident } from '../incident.ts';
import { role } from '../site/incident-site.ts';

const newDatabase = 'installed_later';

export const notReady: readonly Incident[] = [
  {
    alert: 'SvcNotReady',
    variant: 'database',
    speed: 12,
    intent: 'PostgreSQL cannot be reached; it can again.',
    brings: ['SvcApiErrors', 'SvcDatabaseLost', 'SvcControllersNotLed', 'SvcControllersBehind'],
    logs: ['health check failed: ...'],
    isDatabaseAway: true,
    provoke: async (site) => {
      await site.proxy.setMode({ type: 'refused' });
      return () => site.proxy.setMode({ type: 'open' });
    },
    look: async (site) => {
      const answer = await site.readyz();
      if (!answer.includes('[-]database')) throw new Error(`/readyz does not name the database: ${answer}`);
    },
  },
  {
    alert: 'SvcNotReady',
    variant: 'start',
    intent: 'A new process waits for another one that migrates the database; the session of that one is ended.',
    open: async (site) => (await site.add('serve')).start(),
    provoke: async (site) => {
      await site.postgres.query(`CREATE DATABASE ${newDatabase} OWNER ${role}`);
      const migrating = await site.session({ name: newDatabase });
      await migrating.query(`SELECT pg_advisory_lock(${migrationLock('platform')})`);
      const second = await site.add('apiserver', {
        name: 'second',
        args: [`--svc.database.url=${site.databaseUrl(newDatabase)}`],
      });
      second.launch();
      await site.scrape();
      return async () => {
        // The page's query names the process that the others wait for.
        const [holder] = (
          await migrating.query<{ pid: number }>("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted")
        ).rows;
        await site.postgres.query(`SELECT pg_terminate_backend(${holder!.pid})`);
        await second.process.ready();
      };
    },
    look: async (site) => {
      const answer = await site.readyz(site.members[1]);
      if (!answer.includes('[-]start'))
        throw new Error(`/readyz of the new process does not name its start: ${answer}`);
      const waiting = await site.sql("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
      if (waiting.length === 0) throw new Error('pg_stat_activity shows no session that waits for the migration');
    },
  },
];
