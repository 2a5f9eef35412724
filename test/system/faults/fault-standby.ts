import { execFile } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PostgresProcess } from '../harness/process/postgres-process.ts';
import { retryUntilTrue } from '../harness/retry-until-true.ts';
import { childrenOf, signalProcess } from '../harness/process/signal-process.ts';

const run = promisify(execFile);

/** A streaming standby of a FaultPostgres, which ends every query at once that conflicts with what it replays. */
export class FaultStandby extends PostgresProcess {
  /** From a copy of the primary's folder, made while that is stopped. */
  static async follow(primary: Pick<PostgresProcess, 'folder' | 'connection'>, folder: string): Promise<FaultStandby> {
    const { host, port, user } = primary.connection;
    return FaultStandby.start({
      folder,
      settings: {
        primary_conninfo: `host=${host} port=${port} user=${user}`,
        max_standby_streaming_delay: '0',
        wal_retrieve_retry_interval: '200ms',
        max_connections: '120',
      },
    });
  }

  static async copy(from: string, to: string): Promise<void> {
    await run('cp', ['-a', from, to]);
    const pgdata = (await readdir(to)).find((name) => name.startsWith('pgdata-'))!;
    await writeFile(join(to, pgdata, 'standby.signal'), '');
  }

  /** It takes connections, but hears of nothing new. Returns what ends that. */
  async pauseReplay(): Promise<() => Promise<void>> {
    await this.query('SELECT pg_wal_replay_pause()');
    return async () => void (await this.query('SELECT pg_wal_replay_resume()'));
  }

  /** All its processes at once; it starts again by itself. */
  async killEverything(): Promise<void> {
    const before = this.postmaster;
    for (const pid of [before, ...(await childrenOf(before))]) signalProcess(pid, 'SIGKILL');
    await retryUntilTrue(async () => (await this.query('SELECT')).length === 1 && this.postmaster !== before, {
      what: 'the standby answers',
      timeoutMs: 60_000,
    });
  }

  /** Ends the sessions of servers. */
  async terminate(): Promise<void> {
    await this.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'svc %'");
  }
}
