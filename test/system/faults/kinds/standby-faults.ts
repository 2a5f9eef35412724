import type { Fault } from '../fault.ts';
import type { FaultStandby } from '../fault-standby.ts';
import type { ProxyMode } from '../../harness/process/fault-proxy.ts';
import type { TestCluster } from '../test-cluster.ts';
import { pausing } from './pausing.ts';

const unavailable = ({ postgres }: TestCluster): string | undefined =>
  postgres.standby === undefined ? 'no server reads from a standby (--standby-reads)' : undefined;

function standbyOf({ postgres }: TestCluster): FaultStandby {
  if (postgres.standby === undefined) throw new Error('there is no standby');
  return postgres.standby;
}

async function setMode({ replicas }: TestCluster, mode: ProxyMode): Promise<void> {
  for (const { standbyProxy } of replicas) await standbyProxy?.setMode(mode);
}

/** Of the standby that the second server reads from. */
export const standbyFaults: readonly Fault[] = [
  {
    name: 'pause-replay',
    intent: 'The standby replays nothing for 5 s: reads there wait, and are then refused; writes and watches go on.',
    holdMs: 5000,
    unavailable,
    inject: (cluster) => standbyOf(cluster).pauseReplay(),
  },
  {
    name: 'kill-standby',
    intent: 'All processes of the standby are killed: it recovers, and catches up.',
    holdMs: 0,
    unavailable,
    inject: (cluster) => standbyOf(cluster).killEverything(),
  },
  {
    name: 'standby-away',
    intent: 'The standby refuses connections for 4 s, and has ended those that there were.',
    holdMs: 4000,
    unavailable,
    inject: async (cluster) => {
      await setMode(cluster, { type: 'refused' });
      return () => setMode(cluster, { type: 'open' });
    },
  },
  {
    name: 'standby-sessions',
    intent: 'The sessions at the standby are ended again and again: reads are made again, or refused.',
    unavailable,
    inject: async (cluster) => pausing(100, () => standbyOf(cluster).terminate()),
  },
  {
    name: 'recovery-conflicts',
    intent: 'Tables are vacuumed all the time, and the standby ends every query that reads what was removed.',
    holdMs: 3000,
    unavailable,
    inject: async ({ postgres }) => pausing(20, () => postgres.query('VACUUM (FREEZE)')),
  },
  {
    name: 'unconfirmed-commits',
    intent:
      'Commits wait for another standby for 2 s: this one shows them, and nobody is told before the primary has confirmed them.',
    isAlone: true,
    unavailable,
    inject: async ({ postgres }) => {
      const set = async (names: string): Promise<void> => {
        await postgres.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
        await postgres.query('SELECT pg_reload_conf()');
      };
      await set('another');
      return () => set('');
    },
  },
];
