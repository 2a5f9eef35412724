import type { Incident } from '../incident.ts';
import { repeat } from '../repeat.ts';

export const requestsRefused: readonly Incident[] = [
  {
    alert: 'SvcRequestsRefused',
    intent: 'One user sends many requests at a time; he stops.',
    brings: ['SvcApiSlow'],
    logs: ['requests are refused: more are under way than the limits allow', 'request'],
    open: async (site) => {
      await (
        await site.add('serve', {
          args: ['--svc.log.level=debug', '--svc.http.max-in-flight-per-user=8', '--svc.http.max-wait=10ms'],
        })
      ).start();
      await site.addTraffic();
    },
    provoke: async (site) => {
      const { pat } = await site.identity('flooder');
      const authorization = pat.slice('Authorization: '.length);
      const senders = Array.from({ length: 64 }, () =>
        repeat(site, async () => {
          await site
            .request('/apis/incidents.example.com/v1/notes', { headers: { authorization } })
            .catch(() => undefined);
        }),
      );
      return () => Promise.all(senders.map((end) => end()));
    },
    look: async (site) => {
      await site.untilMetric('svc_requests_refused_total{reason="user"}');
      await site.untilLogLine(
        (line) => line['status'] === 429 && line['clientAddress'] === '127.0.0.1',
        '429 and the address',
      );
    },
  },
];
