import { join } from 'node:path';
import { openServe, type Incident } from '../incident.ts';

export const auditIncomplete: readonly Incident[] = [
  {
    alert: 'SvcAuditIncomplete',
    intent: "The disk of the audit's file is full; there is room again.",
    logs: ['could not write to the audit file; trying again'],
    // The tables of the database are on it, too.
    smallDisk: '320m',
    brings: ['SvcDatabaseDiskFull', 'SvcApiErrors'],
    open: (site) => openServe(site, [`--svc.audit.log-file=${join(site.disk!.folder, 'audit.log')}`]),
    provoke: async (site) => {
      await site.disk!.fill();
      return () => site.disk!.free();
    },
    look: async (site) => {
      await site.untilMetric('svc_audit_file_events_dropped_total');
      const { items } = JSON.parse(await site.demand('/apis/audit.k8s.io/v1/events?limit=5')) as { items: unknown[] };
      if (items.length === 0) throw new Error('the list has no events');
    },
  },
];
