import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Incident } from '../incident.ts';
import { endOldest } from './end-oldest.ts';
import { repeat } from '../repeat.ts';
import type { IncidentSite } from '../site/incident-site.ts';

const listers = 40;

const notes = '/apis/incidents.example.com/v1/namespaces/traffic/notes';
export const databaseSlow: readonly Incident[] = [
  {
    alert: 'SvcDatabaseSlow',
    cause: 'waits',
    intent:
      'A program that is not svc locks a table that many clients list for most of the time; its session is ended.',
    brings: ['SvcApiSlow', 'SvcApiErrors', 'SvcDatabaseSlow', 'SvcWatchEventsLate'],
    provoke: async (site) => {
      const stranger = await site.session();
      const end = lockAgainAndAgain(site, stranger, `LOCK TABLE ${await site.tableOfNotes()} IN ACCESS EXCLUSIVE MODE`);
      // A server reads single objects together, by one connection; each list takes one of its own.
      const ends = Array.from({ length: listers }, () =>
        repeat(site, async () => {
          await site.request(`${notes}?limit=5`).catch(() => undefined);
        }),
      );
      return async () => {
        await endOldest(site, "query LIKE '%LOCK TABLE%'");
        await end();
        await Promise.all(ends.map((endList) => endList()));
      };
    },
  },
  {
    alert: 'SvcDatabaseSlow',
    cause: 'commits',
    intent: 'A program that is not svc locks the log of changes for most of the time; its session is ended.',
    brings: ['SvcApiSlow', 'SvcApiErrors', 'SvcDatabaseSlow', 'SvcWatchEventsLate'],
    provoke: async (site) => {
      const stranger = await site.session();
      const end = lockAgainAndAgain(site, stranger, 'LOCK TABLE platform.change_log IN SHARE MODE');
      return async () => {
        await endOldest(site, "query LIKE '%LOCK TABLE%'");
        await end();
      };
    },
  },
];

/** Holds the lock for most of the time, until the session is ended. */
function lockAgainAndAgain(site: IncidentSite, session: pg.Client, lock: string): () => Promise<void> {
  return repeat(site, async () => {
    await session
      .query(`BEGIN; ${lock}`)
      .then(() => delay(900))
      .then(() => session.query('COMMIT'))
      .catch(() => undefined);
    await delay(20);
  });
}
