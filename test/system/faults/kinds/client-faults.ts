import type { Fault } from '../fault.ts';
import { pausing } from './pausing.ts';

export const clientFaults: readonly Fault[] = [
  {
    name: 'clients-cut',
    intent:
      'Clients lose their connections in the middle of requests, and repeat those that carry an Idempotency-Key: each takes effect once.',
    inject: async ({ writers }) =>
      pausing(120, async () => {
        for (const { client } of writers) client.api.cut();
      }),
  },
  {
    name: 'watchers-stalled',
    intent: 'Watchers stop reading without closing: they are disconnected or catch up, and delay no others.',
    holdMs: 4000,
    inject: async ({ watchers }) => {
      const stalled = watchers.filter((_, i) => i % 2 === 0);
      for (const watcher of stalled) watcher.stall();
      return () => stalled.forEach((watcher) => watcher.resume());
    },
  },
  {
    name: 'watchers-cut',
    intent: 'Watchers lose their connections over and over, and resume where they were, on any server.',
    inject: async ({ watchers }) =>
      pausing(200, async () => {
        for (const watcher of watchers) watcher.cut();
      }),
  },
];
