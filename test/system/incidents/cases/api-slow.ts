import { setTimeout as delay } from 'node:timers/promises';
import { childrenOf, signalProcess } from '../../harness/process/signal-process.ts';
import type { Incident } from '../incident.ts';
import { repeat } from '../repeat.ts';

export const apiSlow: readonly Incident[] = [
  {
    alert: 'SvcApiSlow',
    intent: 'PostgreSQL gets a part of its processor time; it gets all.',
    logs: ['slow request'],
    brings: ['SvcDatabaseSlow', 'SvcWatchEventsLate', 'SvcControllersBehind', 'SvcDown:gone'],
    speed: 12,
    provoke: async (site) => {
      const { postmaster } = site.postgres;
      return repeat(site, async () => {
        const pids = [postmaster, ...(await childrenOf(postmaster))];
        for (const pid of pids) signalProcess(pid, 'SIGSTOP');
        await delay(1500);
        for (const pid of pids) signalProcess(pid, 'SIGCONT');
        await delay(50);
      });
    },
    look: (site) =>
      site.untilLogLine(
        (line) =>
          line['msg'] === 'slow request' && typeof line['path'] === 'string' && typeof line['user'] === 'string',
        'a slow request, its path and its user',
      ),
  },
];
