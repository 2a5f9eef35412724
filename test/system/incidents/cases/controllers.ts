import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Incident } from '../incident.ts';
import { repeat } from '../repeat.ts';
import type { IncidentSite } from '../site/incident-site.ts';

const notes = '/apis/incidents.example.com/v1/namespaces/traffic/notes';

/** An API server, and a controller manager of its own. */
async function openSeparately(site: IncidentSite): Promise<void> {
  await (await site.add('apiserver')).start();
  const tokenFile = join(site.folder, 'controllers-token');
  await writeFile(tokenFile, site.token);
  const manager = await site.add('controller-manager', { args: [`--svc.controllers.token-file=${tokenFile}`] });
  await manager.start();
}

/** A note that the garbage collector deletes, because its owner does not exist. */
const dependent = (name: string): object => ({
  apiVersion: 'incidents.example.com/v1',
  kind: 'Note',
  metadata: {
    name,
    ownerReferences: [
      { apiVersion: 'v1', kind: 'Namespace', name: 'nobody', uid: '00000000-0000-4000-8000-000000000000' },
    ],
  },
});

/** A trigger that runs PL/pgSQL before a dependent is deleted; returns what drops it. */
async function addTrigger(site: IncidentSite, statement: string): Promise<() => Promise<unknown>> {
  const table = await site.tableOfNotes();
  await site.sql(
    `CREATE FUNCTION before_deletion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${statement}; RETURN OLD; END $$`,
  );
  await site.sql(
    `CREATE TRIGGER dependents BEFORE DELETE ON ${table} FOR EACH ROW WHEN (OLD.name LIKE 'dependent-%') EXECUTE FUNCTION before_deletion()`,
  );
  return () => site.sql(`DROP TRIGGER dependents ON ${table}`);
}

export const controllers: readonly Incident[] = [
  {
    alert: 'SvcControllersNotLed',
    intent: 'The only controller manager is stopped; it is started again.',
    open: openSeparately,
    provoke: async (site) => {
      const [server, manager] = site.members;
      await manager!.stop();
      // As in a cluster, a process that was stopped is no target any more.
      await site.scrape([server!]);
      return async () => {
        await manager!.start();
        await site.scrape();
      };
    },
    look: async (site) => {
      const leases = await site.demand('/apis/coordination.k8s.io/v1/namespaces/svc-system/leases');
      if (leases.includes('svc-controllers.host.')) throw new Error(`a host still has its lease: ${leases}`);
    },
  },
  {
    alert: 'SvcControllersBehind',
    cause: 'errors',
    intent: 'A trigger of somebody refuses the deletions of the garbage collector; it is dropped.',
    brings: ['SvcApiErrors'],
    logs: ['the reconcile failed; retrying'],
    provoke: async (site) => {
      const drop = await addTrigger(site, "RAISE EXCEPTION 'kept for the auditors'");
      let count = 0;
      // Each is tried ever later, so new ones keep coming.
      const end = repeat(site, async () => {
        await site.create(notes, dependent(`dependent-${(count += 1)}`));
        await delay(200);
      });
      return async () => {
        await end();
        await drop();
      };
    },
    look: (site) =>
      site.untilLogLine(
        ({ msg, err }) =>
          typeof msg === 'string' &&
          msg.startsWith('the reconcile failed') &&
          JSON.stringify(err).includes('a trigger in the database'),
        'a reconcile that failed, and why',
      ),
  },
  {
    alert: 'SvcControllersBehind',
    cause: 'queue',
    intent: 'A slow trigger of somebody makes the deletions of the garbage collector slow; it is dropped.',
    brings: ['SvcApiSlow', 'SvcApiErrors', 'SvcDatabaseSlow', 'SvcWatchEventsLate', 'SvcControllersBehind'],
    provoke: async (site) => {
      const drop = await addTrigger(site, 'PERFORM pg_sleep(0.1)');
      let count = 0;
      // More than eight deletions at a time can follow.
      const ends = Array.from({ length: 24 }, () =>
        repeat(site, async () => {
          await site.create(notes, dependent(`dependent-${(count += 1)}`));
        }),
      );
      return async () => {
        await Promise.all(ends.map((end) => end()));
        await drop();
      };
    },
  },
];
