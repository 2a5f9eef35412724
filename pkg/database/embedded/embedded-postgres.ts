import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { DatabaseError, messageOf } from '../database-error.ts';
import { failureSentence, type DatabaseFailure } from '../database-failure.ts';
import type { DatabaseLog } from '../log.ts';
import { postgresAccount } from './account.ts';
import type { Account } from './run-program.ts';
import {
  clusterUser,
  clusterAccount,
  ensureCluster,
  listMajors,
  locateHome,
  prepareDataDir,
  rememberHome,
} from './cluster.ts';
import { DataDirLock } from './data-dir-lock.ts';
import { PostmasterLauncher } from './postmaster-launcher.ts';
import type { Postmaster } from './postmaster.ts';
import { findBinaries } from './postgres-binaries.ts';
import { cutPostgresLog } from './postgres-log.ts';
import { removeSocketDirectory } from './socket-directory.ts';

/** Port in the name of the unix socket; nothing listens on TCP. */
const socketPort = 5432;
const maxBackoffMs = 5_000;
const walSegmentBytes = 16 * 1024 * 1024;
const logCheckIntervalMs = 30_000;

export interface EmbeddedPostgresOptions {
  /** Created if missing. Contains `pgdata-<major>`, `postgres.log` and the lock. */
  readonly dataDir: string;
  readonly log: DatabaseLog;
  /** PostgreSQL settings that override the durable defaults; tests switch `fsync` off. */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * PostgreSQL as part of this program, for one machine and for tests: a cluster in the data folder, reached through a
 * unix socket that only its own user (and root) can open. Run as root, PostgreSQL runs as `postgres` or `nobody`.
 *
 * If the server is killed, PostgreSQL continues and the next server adopts it. If PostgreSQL dies, it is restarted on
 * the same socket. The caller stops it last, after everything that uses it.
 */
export class EmbeddedPostgres {
  readonly connection: pg.ClientConfig;
  readonly #log: DatabaseLog;
  readonly #lock: DataDirLock;
  readonly #launcher: PostmasterLauncher;
  readonly #ending = new AbortController();
  #postmaster: Postmaster;
  #guarding: Promise<void>;
  readonly #trimming: Promise<void>;
  #stopped: Promise<void> | undefined;

  private constructor(
    { dataDir, log }: EmbeddedPostgresOptions,
    lock: DataDirLock,
    launcher: PostmasterLauncher,
    postmaster: Postmaster,
  ) {
    this.#log = log;
    this.#lock = lock;
    this.#launcher = launcher;
    this.#postmaster = postmaster;
    this.connection = connectionTo(postmaster.socketDirectory);
    this.#guarding = this.#guard();
    this.#trimming = this.#keepLogSmall(dataDir);
  }

  /**
   * Starts PostgreSQL, or adopts one that a killed server left running. Throws DatabaseError if it cannot, with nothing
   * left running.
   */
  static async start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    if (process.platform === 'win32')
      throw new DatabaseError('The embedded PostgreSQL does not run on Windows; set svc.database.url.');
    try {
      return await EmbeddedPostgres.#startIn(await prepareDataDir(options.dataDir), options);
    } catch (error) {
      if (error instanceof DatabaseError) throw error;
      throw new DatabaseError(`PostgreSQL cannot be started in ${options.dataDir}: ${messageOf(error)}.`, {
        cause: error,
      });
    }
  }

  static async #startIn(dataDir: string, options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const lock = await DataDirLock.acquire(dataDir);
    try {
      const launcher = await prepareLauncher(dataDir, options);
      return new EmbeddedPostgres({ ...options, dataDir }, lock, launcher, await launcher.launch());
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /** Stops PostgreSQL within 30 s and disconnects clients. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= this.#shutDown();
    return this.#stopped;
  }

  async #shutDown(): Promise<void> {
    this.#ending.abort();
    try {
      await Promise.all([this.#guarding, this.#trimming]);
      await this.#postmaster.stop();
      await removeSocketDirectory(this.#postmaster.socketDirectory);
    } finally {
      await this.#lock.release();
    }
  }

  async #keepLogSmall(dataDir: string): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await delay(logCheckIntervalMs, undefined, { signal, ref: false }).catch(() => {});
      await cutPostgresLog(dataDir).catch((error: unknown) =>
        this.#log.warn({ err: error }, 'postgres.log could not be rotated'),
      );
    }
  }

  async #guard(): Promise<void> {
    const ended = new Promise<void>((resolve) =>
      this.#ending.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    while (!this.#ending.signal.aborted) {
      await Promise.race([this.#postmaster.exited, ended]);
      if (!this.#ending.signal.aborted) await this.#heal();
    }
  }

  async #heal(): Promise<void> {
    this.#log.error({ pid: this.#postmaster.pid }, 'PostgreSQL ended unexpectedly; starting it again');
    for (let backOffMs = 100; !this.#ending.signal.aborted; backOffMs = Math.min(backOffMs * 2, maxBackoffMs)) {
      try {
        this.#postmaster = await this.#launcher.launchAt(this.#postmaster.socketDirectory, this.#ending.signal);
        return;
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        const isFull = await hasFullDisk(this.#postmaster.pgdata);
        const named = isFull ? ({ failure: 'disk_full' } satisfies { failure: DatabaseFailure }) : {};
        this.#log.error(
          { ...named, err: error, retryInMs: backOffMs },
          `PostgreSQL could not be started again${isFull ? `: ${failureSentence('disk_full')}` : ''}`,
        );
        await delay(backOffMs, undefined, { signal: this.#ending.signal, ref: false }).catch(() => {});
      }
    }
  }
}

async function prepareLauncher(dataDir: string, options: EmbeddedPostgresOptions): Promise<PostmasterLauncher> {
  const { log, settings = {} } = options;
  const chosen = await postgresAccount();
  const home = await locateHome(dataDir, chosen);
  const majors = await listMajors(home);
  const account: Account | undefined = await clusterAccount(home, majors, chosen);
  const binaries = await findBinaries({ account, home, majors, log });
  const pgdata = await ensureCluster({ home, binaries, account, sync: settings['fsync'] !== 'off' });
  await rememberHome(dataDir, home, log);
  return new PostmasterLauncher({ dataDir, pgdata, postgres: binaries.postgres, account, settings, log, connectionTo });
}

/** PostgreSQL needs room for a WAL segment to start; the WAL may be on another disk than the tables. */
async function hasFullDisk(pgdata: string): Promise<boolean> {
  const free = await Promise.all(
    [pgdata, join(pgdata, 'pg_wal')].map((path) =>
      statfs(path).then(
        ({ bavail, bsize }) => bavail * bsize,
        () => Infinity,
      ),
    ),
  );
  return Math.min(...free) < walSegmentBytes;
}

/** Complete, so that no PG* variable of the shell is used. */
export function connectionTo(socketDirectory: string): pg.ClientConfig {
  return { host: socketDirectory, port: socketPort, user: clusterUser, database: 'postgres', password: '', ssl: false };
}
