import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openServe, type Incident } from '../incident.ts';
import { repeat } from '../repeat.ts';
import { note } from '../site/traffic.ts';

const notes = '/apis/incidents.example.com/v1/namespaces/traffic/notes';

export const auditIncomplete: readonly Incident[] = [
  {
    alert: 'SvcAuditIncomplete',
    intent: "The disk of the audit's file is full; there is room again.",
    logs: ['could not write to the audit file; trying again'],
    smallDisk: '64m',
    smallDiskHolds: 'nothing',
    open: async (site) => {
      const policy = join(site.folder, 'policy.yaml');
      await writeFile(policy, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: RequestResponse }]\n');
      const file = join(site.disk!.folder, 'audit.log');
      await openServe(site, [`--svc.audit.log-file=${file}`, `--svc.audit.policy-file=${policy}`]);
    },
    provoke: async (site) => {
      await site.disk!.fill();
      let count = 0;
      // Until more waits for the file than memory may hold.
      const end = repeat(site, async () => {
        count += 1;
        const body = JSON.stringify(note(`long-${count}`, 'x'.repeat(300_000)));
        await site.request(notes, { method: 'POST', body });
      });
      return async () => {
        await end();
        await site.disk!.free();
      };
    },
    look: async (site) => {
      await site.untilMetric('svc_audit_file_events_dropped_total');
      const { items } = JSON.parse(await site.demand('/apis/audit.k8s.io/v1/events?limit=5')) as { items: unknown[] };
      if (items.length === 0) throw new Error('the list has no events');
    },
  },
];
