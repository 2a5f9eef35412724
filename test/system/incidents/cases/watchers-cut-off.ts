import { connect, type Socket } from 'node:net';
import type { Incident } from '../incident.ts';
import { note } from '../site/traffic.ts';

const watchers = 12;
const notes = '/apis/incidents.example.com/v1/namespaces/traffic/notes';

export const watchersCutOff: readonly Incident[] = [
  {
    alert: 'SvcWatchersCutOff',
    intent: 'Watchers do not read what they are sent; they are ended.',
    logs: ['request'],
    open: async (site) => {
      await (await site.add('serve', { args: ['--svc.log.level=debug'] })).start();
      await site.addTraffic();
    },
    provoke: async (site) => {
      const sockets: Socket[] = [];
      site.onRemove(() => sockets.forEach((socket) => socket.destroy()));
      for (let i = 0; i < watchers; i += 1) {
        const socket = connect(site.server.port, '127.0.0.1');
        socket.on('error', () => socket.destroy());
        socket.pause();
        socket.write(
          `GET ${notes}?watch=true HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${site.token}\r\n\r\n`,
        );
        sockets.push(socket);
      }
      // More than 4 MiB, and what the sockets hold of it.
      for (let i = 0; i < 40; i += 1) await site.create(notes, note(`large-${i}`, 'x'.repeat(400_000)));
      return () => sockets.forEach((socket) => socket.destroy());
    },
    look: async (site) => {
      await site.untilMetric('svc_watches_disconnected_total', 5);
      await site.untilLogLine(
        (line) => line['path'] === notes && line['method'] === 'GET' && typeof line['user'] === 'string',
        'the path of the watch and its user',
      );
    },
  },
];
