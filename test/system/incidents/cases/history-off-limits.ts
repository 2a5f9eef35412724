import { randomBytes } from 'node:crypto';
import type { Incident } from '../incident.ts';
import { endOldest } from './end-oldest.ts';
import { repeat } from '../repeat.ts';
import { note } from '../site/traffic.ts';

const notes = '/apis/incidents.example.com/v1/namespaces/traffic/notes';

export const historyOffLimits: readonly Incident[] = [
  {
    alert: 'SvcHistoryOffLimits',
    cause: 'short',
    intent: 'Clients write more than the history may hold; the option is raised.',
    brings: ['SvcHistoryOffLimits:large'],
    open: async (site) => {
      await (await site.add('serve', { args: ['--svc.storage.log-max-size=1MiB'] })).start();
      await site.addTraffic();
    },
    provoke: async (site) => {
      let count = 0;
      repeat(site, async () => {
        count += 1;
        const body = JSON.stringify(note(`long-${count}`, randomBytes(20_000).toString('hex')));
        await site.request(notes, { method: 'POST', body }).catch(() => undefined);
        await site.request(`${notes}/long-${count}`, { method: 'DELETE' }).catch(() => undefined);
      });
      return async () => {
        await site.server.stop();
        await site.server.start({ args: [...site.argsOf('serve'), '--svc.storage.log-max-size=1GiB'] });
      };
    },
  },
  {
    alert: 'SvcHistoryOffLimits',
    cause: 'large',
    intent:
      'A transaction is open for long, so that removed history takes disk; it is ended, and the history vacuumed.',
    brings: ['SvcHistoryOffLimits'],
    open: async (site) => {
      await (await site.add('serve', { args: ['--svc.storage.log-max-size=1MiB'] })).start();
      await site.addTraffic();
    },
    provoke: async (site) => {
      const stranger = await site.session();
      await stranger.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await stranger.query('SELECT pg_current_xact_id()');
      for (let i = 0; i < 60; i += 1) await site.create(notes, note(`long-${i}`, randomBytes(60_000).toString('hex')));
      return async () => {
        await endOldest(site, 'xact_start IS NOT NULL');
        await site.sql('VACUUM platform.change_log');
        await site.untilMetric('svc_compaction_duration_seconds_count{outcome="done"}', 1);
        await site.sql('VACUUM FULL platform.change_log');
      };
    },
    look: (site) => site.untilMetric('svc_change_log_size_bytes / 2', 1024 ** 2),
  },
  {
    alert: 'SvcHistoryOffLimits',
    cause: 'stuck',
    // Each process has a round in 30 s: four make the ten that fail within 100 s.
    speed: 6,
    intent: 'A trigger of somebody refuses that history is removed; it is dropped.',
    logs: ['history could not be compacted'],
    open: async (site) => {
      await (await site.add('serve')).start();
      for (const name of ['second', 'third', 'fourth']) await (await site.add('apiserver', { name })).start();
    },
    provoke: async (site) => {
      await site.sql(
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'kept for the auditors'; END $$`,
      );
      await site.sql(
        'CREATE TRIGGER kept BEFORE DELETE ON platform.change_log FOR EACH STATEMENT EXECUTE FUNCTION refuse()',
      );
      return () => site.sql('DROP TRIGGER kept ON platform.change_log');
    },
  },
];
