import type { Incident } from '../incident.ts';
import { repeat } from '../repeat.ts';
import { role } from '../site/incident-site.ts';

export const databaseConflicts: readonly Incident[] = [
  {
    alert: 'SvcDatabaseConflicts',
    intent: 'The role of svc has another default_transaction_isolation; it is taken back.',
    brings: ['SvcApiErrors', 'SvcControllersBehind', 'SvcControllersNotLed'],
    open: async (site) => {
      await (await site.add('serve')).start();
      await (await site.add('apiserver', { name: 'second' })).start();
      await site.addTraffic();
      await site.addTraffic(site.members[1]);
    },
    provoke: async (site) => {
      await site.sql(`ALTER ROLE ${role} SET default_transaction_isolation = 'serializable'`);
      await site.endSessions();
      const notes = '/apis/incidents.example.com/v1/namespaces/traffic/notes';
      const ends = site.members.flatMap(({ url, name }) =>
        Array.from({ length: 4 }, (_writer, i) =>
          repeat(site, async () => {
            const object = {
              apiVersion: 'incidents.example.com/v1',
              kind: 'Note',
              metadata: { generateName: `${name}-${i}-` },
            };
            await site.request(notes, { method: 'POST', body: JSON.stringify(object) }, url).catch(() => undefined);
          }),
        ),
      );
      return async () => {
        await site.sql(`ALTER ROLE ${role} RESET default_transaction_isolation`);
        await site.endSessions();
        await Promise.all(ends.map((end) => end()));
      };
    },
    look: (site) => site.untilMetric('svc_database_failures_total{failure="transaction_conflict"}', 60),
  },
];
