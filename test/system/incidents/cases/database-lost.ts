import { setTimeout as delay } from 'node:timers/promises';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { signalProcess } from '../../harness/process/signal-process.ts';
import type { Incident } from '../incident.ts';
import { repeat } from '../repeat.ts';
import { endOldest } from './end-oldest.ts';
import { role, type IncidentSite } from '../site/incident-site.ts';

export const databaseLost: readonly Incident[] = [
  {
    alert: 'SvcDatabaseLost',
    cause: 'lost',
    intent: 'A firewall ends the connections to PostgreSQL again and again; it is told not to.',
    brings: ['SvcApiErrors', 'SvcNotReady', 'SvcDown:gone', 'SvcDatabaseLost', 'SvcControllersNotLed'],
    isDatabaseAway: true,
    provoke: async (site) =>
      repeat(site, async () => {
        await site.proxy.cut();
        await delay(100);
      }),
    look: (site) => site.untilMetric('svc_database_failures_total{failure="connection_lost"}'),
  },
  {
    alert: 'SvcDatabaseLost',
    cause: 'restarts',
    speed: 12,
    intent: 'PostgreSQL is ended as soon as it has started, again and again; that stops.',
    brings: ['SvcApiErrors', 'SvcNotReady', 'SvcDown:gone', 'SvcDatabaseLost', 'SvcControllersNotLed'],
    isDatabaseAway: true,
    provoke: async (site) =>
      repeat(site, async () => {
        await untilAnswers(site);
        await endPostgres(site);
        await delay(200);
      }),
    look: (site) => site.untilMetric('svc_database_failures_total{failure=~"shutting_down|starting_up"}'),
  },
  {
    alert: 'SvcDatabaseLost',
    cause: 'exhausted',
    speed: 12,
    intent: 'Somebody locks the table that requests read, until they give up waiting for a connection; he is ended.',
    brings: [
      'SvcApiErrors',
      'SvcApiSlow',
      'SvcNotReady',
      'SvcDatabaseSlow',
      'SvcRequestsRefused',
      'SvcControllersNotLed',
    ],
    provoke: async (site) => {
      const stranger = await site.session();
      await stranger.query('BEGIN');
      const table = await site.tableOfNotes();
      await stranger.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
      const reading = Array.from({ length: 30 }, (_each, i) =>
        repeat(site, async (signal) => {
          await site
            .request(`/apis/incidents.example.com/v1/namespaces/traffic/notes/absent-${i}`, { signal })
            .catch(() => undefined);
        }),
      );
      return async () => {
        await endOldest(site, 'xact_start IS NOT NULL');
        await Promise.all(reading.map((end) => end()));
      };
    },
    look: (site) => site.untilMetric('db_client_connection_timeouts_total'),
  },
  {
    alert: 'SvcDatabaseLost',
    cause: 'refused',
    intent: 'The role of svc may not log in any more; it may again.',
    brings: ['SvcApiErrors', 'SvcNotReady', 'SvcDown:gone', 'SvcDatabaseLost', 'SvcControllersNotLed'],
    provoke: async (site) => {
      await site.sql(`ALTER ROLE ${role} NOLOGIN`);
      await site.endSessions();
      return () => void site.sql(`ALTER ROLE ${role} LOGIN`);
    },
    look: (site) => site.untilMetric('svc_database_failures_total{failure="connection_refused"}'),
  },
];

async function untilAnswers(site: IncidentSite): Promise<void> {
  for (;;) {
    try {
      await site.sql('SELECT 1');
      return;
    } catch {
      await delay(50);
    }
  }
}

/** Its file of process ids is missing while it starts. */
async function endPostgres({ postgres }: IncidentSite): Promise<void> {
  await retryUntilTrue(() => signalProcess(postgres.postmaster, 'SIGINT'), {
    what: 'PostgreSQL has a process to end',
    timeoutMs: 30_000,
  });
}
