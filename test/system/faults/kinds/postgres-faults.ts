import { signalProcess } from '../../harness/process/signal-process.ts';
import type { Fault } from '../fault.ts';
import { sessions } from '../fault-postgres.ts';

export const postgresFaults: readonly Fault[] = [
  {
    name: 'kill-postgres',
    intent:
      'All processes of PostgreSQL are killed at once (SIGKILL): it recovers from its log, and nothing that was acknowledged or seen is gone.',
    holdMs: 0,
    inject: async ({ postgres }) => postgres.killEverything(),
  },
  {
    name: 'immediate-shutdown',
    intent: 'PostgreSQL is stopped without finishing anything (SIGQUIT), and recovers at its start.',
    holdMs: 0,
    inject: async ({ postgres }) => postgres.restart('SIGQUIT'),
  },
  {
    name: 'fast-restart',
    intent: 'PostgreSQL is restarted as an administrator does it (SIGINT): all sessions end.',
    holdMs: 0,
    inject: async ({ postgres }) => postgres.restart('SIGINT'),
  },
  {
    name: 'postgres-away',
    intent:
      'PostgreSQL is killed and cannot be reached for 4 s after it is back: servers stay up, and continue afterwards.',
    holdMs: 4000,
    inject: async ({ postgres, replicas }) => {
      await Promise.all(replicas.map(({ proxy }) => proxy.setMode({ type: 'refused' })));
      await postgres.killEverything();
      return async () => void (await Promise.all(replicas.map(({ proxy }) => proxy.setMode({ type: 'open' }))));
    },
  },
  {
    name: 'freeze-postgres',
    intent: 'All of PostgreSQL is paused for 3 s (SIGSTOP): requests wait.',
    holdMs: 3000,
    inject: async ({ postgres }) => {
      const pids = await postgres.processes();
      for (const pid of pids) signalProcess(pid, 'SIGSTOP');
      return () => pids.forEach((pid) => signalProcess(pid, 'SIGCONT'));
    },
  },
  {
    name: 'pool-exhausted',
    intent:
      'Other clients take all connections of PostgreSQL, and the servers lose theirs: they answer 503 and recover.',
    inject: async ({ postgres }) => {
      const strangers: Awaited<ReturnType<typeof postgres.connect>>[] = [];
      const take = async (): Promise<void> => {
        for (let i = 0; i < 200; i += 1) strangers.push(await postgres.connect('server'));
      };
      await take().catch(() => undefined);
      await postgres.terminate(sessions.any, 0.5);
      await take().catch(() => undefined);
      return async () => void (await Promise.all(strangers.map((stranger) => stranger.end().catch(() => undefined))));
    },
  },
  {
    name: 'statement-timeouts',
    intent:
      'The database ends every statement after 3 ms unless a session sets another timeout: requests may fail, nothing is half done.',
    inject: async ({ postgres }) => {
      await postgres.query("ALTER ROLE app SET statement_timeout = '3ms'");
      await postgres.terminate(sessions.any);
      return async () => {
        await postgres.query('ALTER ROLE app RESET statement_timeout');
        await postgres.terminate(sessions.any);
      };
    },
  },
  {
    name: 'disk-full',
    intent:
      'The disk of the tables is full: writes are refused, reads continue, and writes continue when there is space again.',
    unavailable: ({ postgres }) =>
      postgres.standby !== undefined
        ? 'a standby on the same machine cannot have the tablespace of its primary'
        : postgres.hasSmallDisk
          ? undefined
          : 'a small disk can only be mounted by root',
    inject: async ({ postgres }) => {
      await postgres.fillSmallDisk();
      return () => postgres.freeSmallDisk();
    },
  },
];
