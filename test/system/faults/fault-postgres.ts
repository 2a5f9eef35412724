import { execFile } from 'node:child_process';
import { mkdir, readdir, stat, statfs, writeFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { isDatabaseUnreachable } from '#pkg/database/index';
import { retryUntilTrue } from '../harness/retry-until-true.ts';
import { PostgresProcess } from '../harness/process/postgres-process.ts';
import { childrenOf, signalProcess } from '../harness/process/signal-process.ts';

const run = promisify(execFile);
/** Enough for a run with its dead rows, and small enough to fill within a second. */
const smallDiskSize = '320m';
const database = 'svc';
/** The servers' user: not a superuser, as in production, so that reserved connections are left for the test. */
const serverRole = 'app';

/** Sessions of the servers: patterns of LIKE for their `application_name`, which Database makes. */
export const sessions = {
  any: 'svc %',
  writer: 'svc % writer %',
  reader: 'svc % reads %',
  listener: 'svc % listener %',
} as const;

export type SessionPattern = (typeof sessions)[keyof typeof sessions];

/** Longer than any fault makes the database unavailable. */
const awayLimitMs = 30_000;
const awayPauseMs = 100;

/**
 * A separate PostgreSQL with durable settings; as root, the servers' tables are on a small disk in memory, which can be
 * filled.
 */
export class FaultPostgres extends PostgresProcess {
  #smallDisk: string | undefined;

  /** `home` belongs to the test. */
  static async startIn(home: string): Promise<FaultPostgres> {
    const postgres = await FaultPostgres.start({
      folder: join(home, 'postgres'),
      settings: { max_connections: '120', deadlock_timeout: '500ms', log_lock_waits: 'off' },
    });
    try {
      postgres.#smallDisk = await mountSmallDisk(join(home, 'small-disk'), postgres.dataFolder);
      await postgres.#prepare();
      return postgres;
    } catch (error) {
      await postgres.stop();
      throw error;
    }
  }

  /** The servers' database, for the test's own sessions, without a proxy. */
  get testConnection(): pg.ClientConfig {
    return { ...this.connection, database };
  }

  get hasSmallDisk(): boolean {
    return this.#smallDisk !== undefined;
  }

  /** The servers' URL through a proxy. */
  urlThrough(port: number): string {
    return `postgres://${serverRole}@127.0.0.1:${port}/${database}`;
  }

  /**
   * A session of the test, without proxies and limits; the caller ends it. No unhandled errors: a lost session fails
   * its next query.
   */
  async connect(user?: 'server'): Promise<pg.Client> {
    const client = new pg.Client({
      ...this.testConnection,
      application_name: 'faults',
      connectionTimeoutMillis: 5_000,
      ...(user === undefined ? {} : { user: serverRole }),
    });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  /** Runs one statement in its own session; if a fault ends that, repeats it, so it must be repeatable. */
  override query<Row extends pg.QueryResultRow = Record<string, unknown>>(
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    return retryWhileAway(awayLimitMs, async () => {
      const client = await this.connect();
      try {
        return (await client.query<Row>(text, values)).rows;
      } finally {
        await client.end().catch(() => undefined);
      }
    });
  }

  /** A session in which `begin` has succeeded; if a fault ends it meanwhile, tries another one. The caller ends it. */
  session(begin: (client: pg.Client) => Promise<unknown>): Promise<pg.Client> {
    return retryWhileAway(awayLimitMs, async () => {
      const client = await this.connect();
      try {
        await begin(client);
        return client;
      } catch (error) {
        await client.end().catch(() => undefined);
        throw error;
      }
    });
  }

  /** The processes of such sessions. */
  async backends(pattern: SessionPattern): Promise<number[]> {
    const rows = await this.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE usename = $1 AND application_name LIKE $2',
      [serverRole, pattern],
    );
    return rows.map(({ pid }) => pid);
  }

  /** Ends such sessions cleanly, each with this probability; returns how many. */
  async terminate(pattern: SessionPattern, probability = 1): Promise<number> {
    const rows = await this.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1 AND application_name LIKE $2 AND random() < $3',
      [serverRole, pattern, probability],
    );
    return rows.length;
  }

  /** The file is missing during a restart. */
  postmasterPid(): Promise<number> {
    return retryWhileAway(awayLimitMs, () => this.postmaster);
  }

  /** Process ids of the postmaster and its children. */
  async processes(): Promise<number[]> {
    const postmaster = await this.postmasterPid();
    return [postmaster, ...(await childrenOf(postmaster))];
  }

  /** Simulates a power failure, except that the disk's cache survives; PostgreSQL restarts by itself. */
  async killEverything(): Promise<void> {
    const pids = await this.processes();
    for (const pid of pids) signalProcess(pid, 'SIGKILL');
    await this.answers(pids[0]);
  }

  /** SIGINT: disconnects clients. SIGQUIT: immediate, with recovery at the restart. It restarts by itself. */
  async restart(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    const postmaster = await this.postmasterPid();
    signalProcess(postmaster, signal);
    await this.answers(postmaster);
  }

  /** Resolves when it accepts connections, with another process id than `before`. */
  async answers(before = 0): Promise<void> {
    await retryUntilTrue(
      async () => {
        await (await this.connect()).end();
        return (await this.postmasterPid()) !== before;
      },
      { what: 'PostgreSQL answers', timeoutMs: 60_000 },
    );
  }

  /** Leaves no free byte on the small disk. */
  async fillSmallDisk(): Promise<void> {
    const folder = this.#smallDisk ?? '';
    const { bavail, bsize } = await statfs(folder);
    const piece = Buffer.alloc(1 << 20);
    for (let left = bavail * bsize, i = 0; left > 0; left -= piece.length, i += 1) {
      await writeFile(join(folder, 'filler', String(i)), piece.subarray(0, Math.min(left, piece.length))).catch(
        () => undefined,
      );
    }
  }

  async freeSmallDisk(): Promise<void> {
    const folder = join(this.#smallDisk ?? '', 'filler');
    for (const name of await readdir(folder)) await rm(join(folder, name));
  }

  /** Keeps the folder. */
  override async stop(): Promise<void> {
    await super.stop({ keep: true });
    if (this.#smallDisk !== undefined) await run('umount', [this.#smallDisk]);
  }

  async #prepare(): Promise<void> {
    const tables = this.#smallDisk === undefined ? '' : ' TABLESPACE small';
    await super.query(`CREATE ROLE ${serverRole} LOGIN`);
    if (this.#smallDisk !== undefined)
      await super.query(`CREATE TABLESPACE small LOCATION '${join(this.#smallDisk, 'tables')}'`);
    await super.query(`CREATE DATABASE ${database} OWNER ${serverRole} TEMPLATE template0${tables}`);
  }
}

/** Retries `work` while it fails because the database is unavailable. After `limitMs` it throws the last failure. */
export async function retryWhileAway<T>(limitMs: number, work: () => T | Promise<T>): Promise<T> {
  for (const deadline = performance.now() + limitMs; ; await delay(awayPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!isDatabaseUnreachable(error) || performance.now() > deadline) throw error;
    }
  }
}

/** Undefined if this machine does not permit it. */
async function mountSmallDisk(folder: string, pgdata: string): Promise<string | undefined> {
  const { uid, gid } = await stat(pgdata);
  try {
    await mkdir(folder);
    await run('mount', ['-t', 'tmpfs', '-o', `size=${smallDiskSize},mode=0755`, 'faults', folder]);
  } catch {
    return undefined;
  }
  await mkdir(join(folder, 'filler'));
  await run('install', ['-d', '-m', '0700', '-o', String(uid), '-g', String(gid), join(folder, 'tables')]);
  return folder;
}
