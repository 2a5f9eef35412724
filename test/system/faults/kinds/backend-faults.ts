import type { TestCluster } from '../test-cluster.ts';
import type { Fault } from '../fault.ts';
import { signalProcess } from '../../harness/process/signal-process.ts';
import type { Backend } from '../fault-postgres.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { pausing } from './pausing.ts';

const frozenMs = 5000;

/** The sessions that write batches. */
export function isWriter({ query }: Backend): boolean {
  return query.startsWith('WITH input_0');
}

function isListener({ query }: Backend): boolean {
  return query.startsWith('LISTEN') || query === 'SELECT 1';
}

async function chooseBackend(
  { postgres }: TestCluster,
  random: SeededRandom,
  wanted: (backend: Backend) => boolean,
): Promise<number | undefined> {
  return random.shuffled((await postgres.backends()).filter(wanted))[0]?.pid;
}

function killed(name: string, whose: string, wanted: (backend: Backend) => boolean): Fault {
  return {
    name,
    intent: `A session of PostgreSQL that ${whose} is killed (SIGKILL): PostgreSQL ends all sessions and recovers; unknown outcomes are resolved.`,
    holdMs: 500,
    inject: async (cluster, random) => {
      const pid = await chooseBackend(cluster, random, wanted);
      if (pid !== undefined) signalProcess(pid, 'SIGKILL');
      return () => cluster.postgres.answers();
    },
  };
}

function frozen(name: string, whose: string, wanted: (backend: Backend) => boolean): Fault {
  return {
    name,
    intent: `A session of PostgreSQL that ${whose} is paused for 5 s (SIGSTOP), with its locks: waiting requests continue afterwards.`,
    holdMs: frozenMs,
    inject: async (cluster, random) => {
      const pid = await chooseBackend(cluster, random, wanted);
      if (pid === undefined) return undefined;
      signalProcess(pid, 'SIGSTOP');
      return () => void signalProcess(pid, 'SIGCONT');
    },
  };
}

/** Terminates sessions repeatedly, cleanly and without a crash. */
function terminated(name: string, intent: string, condition: string): Fault {
  return {
    name,
    intent,
    inject: async ({ postgres }) =>
      pausing(150, () =>
        postgres.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'replica-%' AND (${condition})`,
        ),
      ),
  };
}

export const backendFaults: readonly Fault[] = [
  killed('kill-writing-backend', 'writes batches', isWriter),
  killed('kill-reading-backend', 'reads', (backend) => !isWriter(backend) && !isListener(backend)),
  frozen('freeze-writing-backend', 'writes batches', isWriter),
  frozen('freeze-reading-backend', 'reads', (backend) => !isWriter(backend) && !isListener(backend)),
  terminated(
    'terminate-writers',
    'The sessions that write are ended in the middle of their statements, over and over.',
    "query LIKE 'WITH input_0%'",
  ),
  terminated(
    'terminate-listeners',
    'The sessions that listen for notifications are ended: changes arrive without them.',
    "query LIKE 'LISTEN%' OR query = 'SELECT 1'",
  ),
  terminated('terminate-everything', 'Every session of the servers is ended, over and over.', 'true'),
];
