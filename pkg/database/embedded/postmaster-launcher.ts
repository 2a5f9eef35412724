import { setTimeout as delay } from 'node:timers/promises';
import { readdir, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { DatabaseError } from '../database-error.ts';
import type { DatabaseLog } from '../log.ts';
import type { Account } from './run-program.ts';
import { disownPidFile, isPostmaster, readPidFile } from './pid-file.ts';
import { openPostgresLog, readLogTail } from './postgres-log.ts';
import { adoptPostmaster, spawnPostmaster, type Postmaster } from './postmaster.ts';
import { makeSocketDirectory, removeSocketDirectory } from './socket-directory.ts';
import { sharedBuffers } from './shared-buffers.ts';
import { endSurvivors } from './survivors.ts';

/** Replay of the log after a crash is bounded by max_wal_size; this is far beyond it. */
const READY_TIMEOUT_MS = 120_000;
/** An orphan that is merely slow loses only time by being stopped and started again. */
const ADOPT_TIMEOUT_MS = 3_000;

/**
 * Durable. Errors are logged with their SQLSTATE, and without the statement, its values or the row that it was about:
 * what a table holds is in no log.
 */
const DEFAULTS: Readonly<Record<string, string>> = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  shared_buffers: sharedBuffers(),
  max_connections: '60',
  max_wal_size: '1GB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'warning',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_line_prefix: '%m [%p] %e ',
  log_checkpoints: 'off',
};

export interface LauncherOptions {
  readonly dataDir: string;
  readonly pgdata: string;
  readonly postgres: string;
  readonly account: Account | undefined;
  readonly settings: Readonly<Record<string, string>>;
  readonly log: DatabaseLog;
  readonly connectionTo: (socketDirectory: string) => pg.ClientConfig;
}

/** Brings PostgreSQL up on one cluster and waits until it answers. The caller holds the lock of the data folder. */
export class PostmasterLauncher {
  readonly #options: LauncherOptions;

  constructor(options: LauncherOptions) {
    this.#options = options;
  }

  /** Adopts a running one, else starts one. */
  async launch(): Promise<Postmaster> {
    const orphan = await this.#adopt();
    if (orphan !== undefined) return orphan;
    const socketDirectory = await makeSocketDirectory(this.#options.account);
    try {
      return await this.launchAt(socketDirectory);
    } catch (error) {
      await removeSocketDirectory(socketDirectory);
      throw error;
    }
  }

  /** Starts one on a socket folder of ours in which none runs any more. */
  async launchAt(socketDirectory: string, signal?: AbortSignal): Promise<Postmaster> {
    const options = this.#options;
    const pidFile = await readPidFile(options.pgdata);
    if (pidFile !== undefined && !(await isPostmaster(pidFile.pid, options.pgdata))) {
      await endSurvivors(options.pgdata);
      if (isAlive(pidFile.pid)) await disownPidFile(options.pgdata);
    }
    // The socket's own lock file names a process too, and that number may have been taken.
    for (const name of await readdir(socketDirectory)) await rm(join(socketDirectory, name), { force: true });
    const logFile = await openPostgresLog(options.dataDir);
    try {
      return await this.#spawnAndWait(socketDirectory, logFile, signal);
    } finally {
      await logFile.close();
    }
  }

  async #adopt(): Promise<Postmaster | undefined> {
    const { pgdata, log, connectionTo } = this.#options;
    const pidFile = await readPidFile(pgdata);
    if (pidFile === undefined) return undefined;
    const { pid, socketDirectory } = pidFile;
    if (!(await isPostmaster(pid, pgdata))) {
      await removeSocketDirectory(socketDirectory);
      return undefined;
    }
    const orphan = adoptPostmaster(pid, pgdata, socketDirectory);
    if (await answers(connectionTo(socketDirectory), orphan, Date.now() + ADOPT_TIMEOUT_MS)) {
      log.info({ pid }, 'PostgreSQL is still running from before; going on with it.');
      return orphan;
    }
    log.warn({ pid }, 'PostgreSQL is still running from before but does not answer; stopping it.');
    await orphan.stop();
    await removeSocketDirectory(socketDirectory);
    return undefined;
  }

  async #spawnAndWait(socketDirectory: string, logFile: FileHandle, signal?: AbortSignal): Promise<Postmaster> {
    const options = this.#options;
    const { size } = await logFile.stat();
    const postmaster = await spawnPostmaster({
      postgres: options.postgres,
      pgdata: options.pgdata,
      socketDirectory,
      account: options.account,
      logFile: logFile.fd,
      settings: {
        ...DEFAULTS,
        ...options.settings,
        listen_addresses: '',
        unix_socket_directories: socketDirectory,
        unix_socket_permissions: '0700',
      },
    });
    if (await answers(options.connectionTo(socketDirectory), postmaster, Date.now() + READY_TIMEOUT_MS, signal))
      return postmaster;
    await postmaster.stop();
    throw new DatabaseError(`PostgreSQL did not start: ${(await readLogTail(logFile, size)) || 'it wrote nothing'}`);
  }
}

/** Asks until it answers; false when it ended, time is up, or the caller no longer waits. */
async function answers(
  connection: pg.ClientConfig,
  postmaster: Postmaster,
  deadline: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const exited = postmaster.exited.then(() => true);
  for (let waitMs = 5; Date.now() < deadline; waitMs = Math.min(waitMs * 2, 100)) {
    if (await asked(connection)) return true;
    if (signal?.aborted || (await Promise.race([exited, delay(waitMs, false)]))) return false;
  }
  return false;
}

async function asked(connection: pg.ClientConfig): Promise<boolean> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 2_000, query_timeout: 2_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
