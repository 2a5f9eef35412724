import type { Fault } from '../fault.ts';
import type { Replica } from '../replica.ts';

const frozenMs = 5000;
const steppedMs = 600_000;

/** Restarts those that ended; resolves when they are ready. */
export async function revive(...replicas: readonly Replica[]): Promise<void> {
  for (const replica of replicas) replica.launch();
  await Promise.all(replicas.map((replica) => replica.ready()));
}

/** Sets the wall clock of one server ahead, and back again. */
function clockStep(name: string, words: string, aheadMs: number): Fault {
  return {
    name,
    intent: `The wall clock of one server is ten minutes ${words} for a while: nothing waits for it, and no order depends on it.`,
    inject: async ({ replicas }, random) => {
      const replica = random.pick(replicas);
      replica.setClock(aheadMs);
      return () => replica.setClock(0);
    },
  };
}

export const replicaFaults: readonly Fault[] = [
  {
    name: 'kill-server',
    intent:
      'One server is killed (SIGKILL) in the middle of its batches: acknowledged writes exist, others exist once or not at all.',
    holdMs: 1000,
    inject: async ({ replicas }, random) => {
      const replica = random.pick(replicas);
      await replica.end('SIGKILL');
      return () => revive(replica);
    },
  },
  {
    name: 'kill-both-servers',
    intent: 'Both servers are killed at once: they start again from the database alone.',
    holdMs: 500,
    inject: async ({ replicas }) => {
      await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
      return () => revive(...replicas);
    },
  },
  {
    name: 'end-server',
    intent:
      'One server is stopped (SIGTERM): it finishes its requests, ends its watches with a bookmark, and exits in time.',
    holdMs: 500,
    inject: async ({ replicas }, random) => {
      const replica = random.pick(replicas);
      if (!(await replica.end('SIGTERM'))) throw new Error(`${replica.name} did not exit with 0 in time`);
      return () => revive(replica);
    },
  },
  {
    name: 'kill-worker',
    intent:
      'One worker of a server is killed: what was under way in it is unknown, its watches resume at another, and it is started again.',
    holdMs: 1000,
    unavailable: ({ replicas }) => (replicas[0].workers > 1 ? undefined : 'each server is one process'),
    inject: async ({ replicas }, random) => {
      const replica = random.pick(replicas);
      replica.killWorker(1 + random.below(replica.workers));
    },
  },
  {
    name: 'freeze-server',
    intent:
      'One server is paused for 5 s (SIGSTOP), with running statements and locks: the other continues, and the first catches up.',
    holdMs: frozenMs,
    inject: async ({ replicas }, random) => {
      const replica = random.pick(replicas);
      replica.signal('SIGSTOP');
      return () => replica.signal('SIGCONT');
    },
  },
  clockStep('clock-ahead', 'fast', steppedMs),
  clockStep('clock-back', 'slow', -steppedMs),
];
