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

/** max_wal_size bounds the WAL replay after a crash; this is far above it. */
const readyTimeoutMs = 120_000;
/** An orphan that is only slow loses just time if it is restarted. */
const adoptTimeoutMs = 3_000;

/**
 * Durable. Errors are logged with their SQLSTATE, but without the statement, its values or the row: no log contains
 * table data.
 */
const defaultSettings: Readonly<Record<string, string>> = {
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

export interface PostmasterLauncherOptions {
  readonly dataDir: string;
  readonly pgdata: string;
  readonly postgres: string;
  readonly account: Account | undefined;
  readonly settings: Readonly<Record<string, string>>;
  readonly log: DatabaseLog;
  readonly connectionTo: (socketDirectory: string) => pg.ClientConfig;
}

/** Starts PostgreSQL on one cluster and waits until it answers. The caller holds the lock of the data folder. */
export class PostmasterLauncher {
  readonly #options: PostmasterLauncherOptions;

  constructor(options: PostmasterLauncherOptions) {
    this.#options = options;
  }

  /** Adopts a running PostgreSQL, else starts one. */
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

  /** Starts PostgreSQL on a socket folder of this program that no PostgreSQL uses any more. */
  async launchAt(socketDirectory: string, signal?: AbortSignal): Promise<Postmaster> {
    const options = this.#options;
    const pidFile = await readPidFile(options.pgdata);
    if (pidFile !== undefined && !(await isPostmaster(pidFile.pid, options.pgdata))) {
      await endSurvivors(options.pgdata);
      if (isAlive(pidFile.pid)) await disownPidFile(options.pgdata);
    }
    // The socket's lock file also names a process id, which another process may have by now.
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
    if (await answers(connectionTo(socketDirectory), orphan, Date.now() + adoptTimeoutMs)) {
      log.info({ pid }, 'PostgreSQL is still running from an earlier start; using it');
      return orphan;
    }
    log.warn({ pid }, 'PostgreSQL is still running from an earlier start but does not answer; stopping it');
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
        ...defaultSettings,
        ...options.settings,
        listen_addresses: '',
        unix_socket_directories: socketDirectory,
        unix_socket_permissions: '0700',
      },
    });
    if (await answers(options.connectionTo(socketDirectory), postmaster, Date.now() + readyTimeoutMs, signal))
      return postmaster;
    await postmaster.stop();
    throw new DatabaseError(`PostgreSQL did not start: ${(await readLogTail(logFile, size)) || 'it wrote nothing'}`);
  }
}

/** Polls until PostgreSQL answers; false if it ended, the time is up, or the caller has aborted. */
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
