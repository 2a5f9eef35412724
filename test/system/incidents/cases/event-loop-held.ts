import { setTimeout as delay } from 'node:timers/promises';
import { signalProcess } from '../../harness/process/signal-process.ts';
import type { Incident } from '../incident.ts';
import { repeat } from '../repeat.ts';

export const eventLoopHeld: readonly Incident[] = [
  {
    alert: 'SvcEventLoopHeld',
    intent: 'The process gets a part of the processor time, as with throttling; it gets all.',
    brings: ['SvcApiSlow', 'SvcDown', 'SvcWatchEventsLate', 'SvcControllersNotLed'],
    provoke: async (site) => {
      const { pid } = site.server;
      const end = repeat(site, async () => {
        signalProcess(pid, 'SIGSTOP');
        await delay(300);
        signalProcess(pid, 'SIGCONT');
        await delay(30);
      });
      return end;
    },
    look: (site) => site.untilMetric('nodejs_eventloop_lag_p99_seconds', 0.2),
  },
];
