import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Incident } from '../incident.ts';
import type { IncidentSite } from '../site/incident-site.ts';

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
];
