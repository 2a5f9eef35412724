import type { Incident } from '../incident.ts';
import type { IncidentSite } from '../site/incident-site.ts';
import { note } from '../site/traffic.ts';

const notes = '/apis/incidents.example.com/v1/namespaces/traffic/notes';

export async function assertWritesRefused(site: IncidentSite): Promise<void> {
  const answer = await site.readyz();
  if (!answer.includes('[-]writes')) throw new Error(`/readyz does not name the check "writes": ${answer}`);
  if ((await site.request(notes)).status !== 200) throw new Error('notes cannot be read');
}

export const databaseDisk: readonly Incident[] = [
  {
    alert: 'SvcDatabaseDiskFull',
    cause: 'full',
    intent: 'The disk of the tables is full; it is enlarged.',
    smallDisk: { size: '320m', holds: 'tables' },
    brings: ['SvcApiErrors', 'SvcControllersBehind'],
    provoke: async (site) => {
      await site.disk!.fill();
      return () => site.disk!.enlarge('640m');
    },
    look: async (site) => {
      await site.untilMetric('svc_database_failures_total{failure="disk_full"}');
      await assertWritesRefused(site);
      const { status, text } = await site.request(notes, {
        method: 'POST',
        body: JSON.stringify(note('large', 'x'.repeat(500_000))),
      });
      if (status !== 503 || !text.includes('the disk of the database is full'))
        throw new Error(`a large creation is answered ${status} ${text.slice(0, 300)}`);
    },
  },
];
