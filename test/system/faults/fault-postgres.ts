import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { isDatabaseUnreachable } from '#pkg/database/index';
import { retryUntilTrue } from '../harness/retry-until-true.ts';
import { PostgresProcess } from '../harness/process/postgres-process.ts';
import { childrenOf, signalProcess } from '../harness/process/signal-process.ts';
import { FaultStandby } from './fault-standby.ts';
import { SmallDisk } from '../harness/process/small-disk.ts';

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
  #smallDisk: SmallDisk | undefined;
  #standby: FaultStandby | undefined;

  /** `home` belongs to the test. */
  static async startIn(home: string, { hasStandby = false } = {}): Promise<FaultPostgres> {
    const options = {
      folder: join(home, 'postgres'),
      settings: { max_connections: '120', deadlock_timeout: '500ms', log_lock_waits: 'off' },
    };
    const standbyFolder = join(home, 'standby');
    if (hasStandby) {
      await (await FaultPostgres.start(options)).stop();
      await FaultStandby.copy(options.folder, standbyFolder);
    }
    const postgres = await FaultPostgres.start(options);
    try {
      if (hasStandby) postgres.#standby = await FaultStandby.follow(postgres, standbyFolder);
      // A tablespace has the same place on both servers, which two on one machine cannot share.
      else postgres.#smallDisk = await SmallDisk.mount(join(home, 'small-disk'), smallDiskSize);
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

  get standby(): FaultStandby | undefined {
    return this.#standby;
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
    await this.#smallDisk?.fill();
  }

  async freeSmallDisk(): Promise<void> {
    await this.#smallDisk?.free();
  }

  /** Keeps the folder. */
  override async stop(): Promise<void> {
    await this.#standby?.stop({ keep: true });
    await super.stop({ keep: true });
    await this.#smallDisk?.unmount();
  }

  async #prepare(): Promise<void> {
    const tables = this.#smallDisk === undefined ? '' : ' TABLESPACE small';
    await super.query(`CREATE ROLE ${serverRole} LOGIN`);
    if (this.#smallDisk !== undefined)
      await super.query(
        `CREATE TABLESPACE small LOCATION '${await this.#smallDisk.tablespaceFolder(this.dataFolder)}'`,
      );
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
