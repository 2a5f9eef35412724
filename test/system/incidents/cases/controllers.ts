import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Incident } from '../incident.ts';
import { repeat } from '../repeat.ts';
import type { IncidentSite } from '../site/incident-site.ts';
import { note } from '../site/traffic.ts';

/** An API server, and a controller manager of its own. */
async function openSeparately(site: IncidentSite): Promise<void> {
  await (await site.add('apiserver')).start();
  const tokenFile = join(site.folder, 'controllers-token');
  await writeFile(tokenFile, site.token);
  const manager = await site.add('controller-manager', { args: [`--svc.controllers.token-file=${tokenFile}`] });
  await manager.start();
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
    intent: 'PostgreSQL refuses to delete the notes of a namespace that is deleted, by a trigger; it is dropped.',
    logs: ['the reconcile failed; retrying'],
    brings: ['SvcApiErrors'],
    open: async (site) => {
      await (await site.add('serve')).start();
      const traffic = await site.addTraffic();
      await traffic.stop();
    },
    provoke: async (site) => {
      const table = await site.tableOfNotes();
      await site.sql(
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'kept for the auditors'; END $$`,
      );
      await site.sql(`CREATE TRIGGER kept BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse()`);
      let count = 0;
      // One namespace alone is tried again ever later.
      const end = repeat(site, async () => {
        count += 1;
        const name = `kept-${count}`;
        const send = (method: string, path: string, object?: object): Promise<unknown> =>
          site.request(path, { method, ...(object === undefined ? {} : { body: JSON.stringify(object) }) });
        await send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
        await send('POST', `/apis/incidents.example.com/v1/namespaces/${name}/notes`, note(name));
        await send('DELETE', `/api/v1/namespaces/${name}`);
        await delay(2000);
      });
      return async () => {
        await site.sql(`DROP TRIGGER kept ON ${table}`);
        await end();
      };
    },
    look: (site) =>
      site.untilLogLine(
        (line) => line['msg'] === 'the reconcile failed; retrying' && JSON.stringify(line).includes('kept-'),
        'the failed reconcile and its object',
      ),
  },
];
