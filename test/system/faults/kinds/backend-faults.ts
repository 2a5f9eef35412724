import type { TestCluster } from '../test-cluster.ts';
import type { Fault } from '../fault.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { signalProcess } from '../../harness/process/signal-process.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { sessions, type SessionPattern } from '../fault-postgres.ts';
import { pausing } from './pausing.ts';

const frozenMs = 5000;
/** Other faults end the servers' sessions too: for less than this. Milliseconds. */
const foundWithinMs = 20_000;

/** The process of one such session; waits until there is one, because a fault without a target proves nothing. */
async function chooseBackend({ postgres }: TestCluster, random: SeededRandom, wanted: SessionPattern): Promise<number> {
  let found: number[] = [];
  await retryUntilTrue(
    async () => {
      found = await postgres.backends(wanted);
      return found.length > 0;
    },
    { what: `a session is like '${wanted}'`, timeoutMs: foundWithinMs },
  );
  return random.shuffled(found)[0]!;
}

function killed(name: string, whose: string, wanted: SessionPattern): Fault {
  return {
    name,
    intent: `A session of PostgreSQL that ${whose} is killed (SIGKILL): PostgreSQL ends all sessions and recovers; unknown outcomes are resolved.`,
    holdMs: 500,
    inject: async (cluster, random) => {
      signalProcess(await chooseBackend(cluster, random, wanted), 'SIGKILL');
      return () => cluster.postgres.answers();
    },
  };
}

function frozen(name: string, whose: string, wanted: SessionPattern): Fault {
  return {
    name,
    intent: `A session of PostgreSQL that ${whose} is paused for 5 s (SIGSTOP), with its locks: waiting requests continue afterwards.`,
    holdMs: frozenMs,
    inject: async (cluster, random) => {
      const pid = await chooseBackend(cluster, random, wanted);
      signalProcess(pid, 'SIGSTOP');
      return () => void signalProcess(pid, 'SIGCONT');
    },
  };
}

/** Terminates sessions repeatedly, cleanly and without a crash; at least one. */
function terminated(name: string, intent: string, wanted: SessionPattern): Fault {
  return {
    name,
    intent,
    inject: async ({ postgres }) => {
      let count = 0;
      const heal = pausing(150, async () => {
        count += await postgres.terminate(wanted);
      });
      return async () => {
        try {
          await retryUntilTrue(() => count > 0, { what: `ended a session like '${wanted}'`, timeoutMs: foundWithinMs });
        } finally {
          await heal();
        }
      };
    },
  };
}

export const backendFaults: readonly Fault[] = [
  killed('kill-writing-backend', 'writes batches', sessions.writer),
  killed('kill-reading-backend', 'reads', sessions.reader),
  frozen('freeze-writing-backend', 'writes batches', sessions.writer),
  frozen('freeze-reading-backend', 'reads', sessions.reader),
  terminated(
    'terminate-writers',
    'The sessions that write are ended in the middle of their statements, over and over.',
    sessions.writer,
  ),
  terminated(
    'terminate-listeners',
    'The sessions that listen for notifications are ended: changes arrive without them.',
    sessions.listener,
  ),
  terminated('terminate-everything', 'Every session of the servers is ended, over and over.', sessions.any),
];
