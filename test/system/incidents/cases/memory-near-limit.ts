import { connect } from 'node:net';
import type { Incident } from '../incident.ts';

const notes = '/apis/incidents.example.com/v1/namespaces/traffic/notes';
const heapMiB = 110;

export const memoryNearLimit: readonly Incident[] = [
  {
    alert: 'SvcMemoryNearLimit',
    intent: 'Watches fill the heap of a process that may have little; it may have more.',
    brings: ['SvcRequestsRefused', 'SvcEventLoopHeld', 'SvcDown', 'SvcControllersNotLed'],
    open: async (site) => {
      const server = await site.add('serve', {
        nodeArgs: [`--max-old-space-size=${heapMiB}`],
        args: ['--svc.http.max-watches-per-user=0'],
      });
      await server.start();
      const traffic = await site.addTraffic();
      await traffic.stop();
    },
    provoke: async (site) => {
      const share = 'max(nodejs_heap_size_used_bytes / svc_heap_limit_bytes)';
      while (((await site.prometheus.value(share)) ?? 0) < 0.93) {
        for (let i = 0; i < 20; i += 1) {
          const socket = connect(site.server.port, '127.0.0.1');
          socket.on('error', () => socket.destroy());
          socket.resume();
          socket.write(
            `GET ${notes}?watch=true HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${site.token}\r\n\r\n`,
          );
          site.onRemove(() => void socket.destroy());
        }
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      return async () => {
        await site.server.stop();
        await site.server.start({ nodeArgs: [`--max-old-space-size=${4 * heapMiB}`] });
      };
    },
    look: (site) => site.untilMetric('svc_watches', 20),
  },
];
