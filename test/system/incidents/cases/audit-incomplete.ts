import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Incident } from '../incident.ts';
import { repeat } from '../repeat.ts';
import { note } from '../site/traffic.ts';

const notes = '/apis/incidents.example.com/v1/namespaces/traffic/notes';

export const auditIncomplete: readonly Incident[] = [
  {
    alert: 'SvcAuditIncomplete',
    intent: 'The disk of the file of events is full, while large ones come; it is enlarged.',
    smallDisk: { size: '1m', holds: 'audit' },
    logs: ['could not write to the audit file; trying again'],
    open: async (site) => {
      const policyFile = join(site.folder, 'audit-policy.yaml');
      await writeFile(policyFile, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Request }]\n');
      await (
        await site.add('serve', {
          args: [`--svc.audit.policy-file=${policyFile}`, `--svc.audit.log-file=${site.auditFile}`],
        })
      ).start();
      await site.addTraffic();
    },
    provoke: async (site) => {
      await site.disk!.fill();
      let count = 0;
      // 16 MiB of events wait for the file: 300 of these.
      const end = repeat(site, async () => {
        const name = `large-${(count += 1)}`;
        await site.create(notes, note(name, 'x'.repeat(60_000)));
        await site.demand(`${notes}/${name}`, { method: 'DELETE' });
      });
      return async () => {
        await site.disk!.enlarge('200m');
        await end();
      };
    },
    look: (site) => site.untilMetric('svc_audit_file_events_dropped_total'),
  },
];
