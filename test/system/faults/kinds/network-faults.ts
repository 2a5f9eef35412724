import type { TestCluster } from '../test-cluster.ts';
import type { Fault } from '../fault.ts';
import type { ProxyMode } from '../../harness/process/fault-proxy.ts';
import { pausing } from './pausing.ts';

/** Disturbs the database connection of one server, or of both, for a while. */
function badWay(name: string, intent: string, mode: ProxyMode, { both = false, holdMs = 2500 } = {}): Fault {
  return {
    name,
    intent,
    holdMs,
    inject: async ({ replicas }, random) => {
      const chosen = both ? replicas : [random.pick(replicas)];
      await Promise.all(chosen.map(({ proxy }) => proxy.setMode(mode)));
      return async () => void (await Promise.all(chosen.map(({ proxy }) => proxy.setMode({ type: 'open' }))));
    },
  };
}

export const networkFaults: readonly Fault[] = [
  {
    name: 'connections-cut',
    intent: 'All connections to PostgreSQL are cut between a statement and its answer, over and over.',
    inject: async ({ replicas }: TestCluster) =>
      pausing(250, () => Promise.all(replicas.map(({ proxy }) => proxy.cut()))),
  },
  badWay(
    'connections-slow',
    'Every message to and from PostgreSQL takes 100 ms longer.',
    { type: 'slow', delayMs: 100 },
    { both: true },
  ),
  badWay(
    'connections-stalled',
    'Packets between one server and PostgreSQL are held for 3 s, then delivered.',
    { type: 'stalled' },
    { holdMs: 3000 },
  ),
  badWay(
    'connections-refused',
    'Connections to PostgreSQL are refused: requests get 503, and succeed when it is back.',
    { type: 'refused' },
    { both: true },
  ),
  badWay(
    'answers-lost',
    'PostgreSQL receives from one server, its responses are lost, and the connections never recover.',
    {
      type: 'deaf',
      lost: 'answers',
    },
  ),
  badWay(
    'requests-lost',
    'One server receives from PostgreSQL, its requests are lost, and the connections never recover.',
    {
      type: 'deaf',
      lost: 'requests',
    },
  ),
  {
    name: 'database-vanished',
    intent:
      "PostgreSQL's ends of one server's connections disappear without notice (half-open): the server detects it.",
    holdMs: 500,
    inject: async ({ replicas }, random) => random.pick(replicas).proxy.abandon(),
  },
  {
    name: 'server-vanished',
    intent:
      "One server's connections end without notice to PostgreSQL (half-open): orphaned sessions remain, with their locks.",
    inject: async ({ replicas }, random) => {
      const { proxy } = random.pick(replicas);
      proxy.orphan();
      return () => proxy.forget();
    },
  },
];
