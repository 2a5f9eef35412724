import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { postgresAccount } from '#pkg/database/embedded/account';
import { retryUntilTrue } from '../harness/retry-until-true.ts';
import { PostgresNode, postgresPort } from './postgres-node.ts';

const database = 'svc';
const role = 'svc';
const timeoutMs = 60_000;

export interface PostgresPairOptions {
  folder: string;
  /** Two unused addresses of this machine. */
  hosts: readonly [string, string];
  /** Directs new connections to this server, and closes those to the other. */
  direct: (to: PostgresNode) => Promise<void>;
}

/**
 * A primary with its streaming standby and their failover, like an operator such as CloudNativePG for a cluster of two.
 * The database's service leads to `primary`.
 */
export class PostgresPair {
  readonly nodes: readonly [PostgresNode, PostgresNode];
  readonly #direct: PostgresPairOptions['direct'];
  #primary: PostgresNode;

  static async start({ folder, hosts, direct }: PostgresPairOptions): Promise<PostgresPair> {
    const home = join(folder, 'postgres');
    await mkdir(home);
    const account = await postgresAccount();
    if (account !== undefined) await chown(home, account.uid, account.gid);
    const pair = new PostgresPair(
      [
        new PostgresNode({ name: 'pg_a', folder: home, host: hosts[0] }),
        new PostgresNode({ name: 'pg_b', folder: home, host: hosts[1] }),
      ],
      direct,
    );
    try {
      await pair.primary.initialize();
      await pair.primary.query(`CREATE ROLE ${role} LOGIN PASSWORD 'not-asked-for'`);
      await pair.primary.query(`CREATE DATABASE ${database} OWNER ${role}`);
      await pair.addStandby();
      await direct(pair.primary);
      return pair;
    } catch (error) {
      await pair.stop();
      throw error;
    }
  }

  private constructor(nodes: readonly [PostgresNode, PostgresNode], direct: PostgresPairOptions['direct']) {
    this.nodes = nodes;
    this.#direct = direct;
    this.#primary = nodes[0];
  }

  get primary(): PostgresNode {
    return this.#primary;
  }

  /** The other server, which may be down. */
  get standby(): PostgresNode {
    return this.nodes[0] === this.#primary ? this.nodes[1] : this.nodes[0];
  }

  /** The URL of the database for a pod. */
  static url(host: string): string {
    return `postgres://${role}:not-asked-for@${host}:${postgresPort}/${database}`;
  }

  /** A session of the test with the primary's database, without proxies; the caller ends it. */
  connect(): Promise<pg.Client> {
    return this.#primary.connect(database);
  }

  query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#primary.query<Row>(text, values, database);
  }

  /** Makes the other server a standby, from a fresh copy; resolves when it streams. */
  async addStandby(): Promise<void> {
    const { primary, standby } = this;
    await primary.query(
      "SELECT pg_create_physical_replication_slot('standby', true) WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = 'standby')",
    );
    await standby.follow(primary, 'standby');
    await retryUntilTrue(async () => (await this.#streaming()) !== undefined, {
      what: `${standby.name} streams`,
      timeoutMs: timeoutMs,
    });
  }

  /** Whether a commit waits until the standby has it on disk. */
  async setSynchronous(isSynchronous: boolean): Promise<void> {
    await this.#primary.set('synchronous_standby_names', isSynchronous ? `ANY 1 (${this.standby.name})` : '');
    if (isSynchronous)
      await retryUntilTrue(async () => (await this.#streaming()) === 'quorum', {
        what: `${this.standby.name} is synchronous`,
        timeoutMs: timeoutMs,
      });
  }

  /** Disconnects the standby; the primary keeps the WAL for it. */
  async detachStandby(): Promise<void> {
    await this.standby.set('primary_conninfo', '');
    await retryUntilTrue(async () => (await this.#streaming()) === undefined, {
      what: `${this.standby.name} hears nothing`,
      timeoutMs: timeoutMs,
    });
  }

  /** Kills the primary, promotes the standby, and redirects the service. */
  async failOver(): Promise<void> {
    const { standby } = this;
    await this.#primary.kill();
    // A copied setting might name a missing standby: every commit would wait for it.
    await standby.query('SELECT pg_promote(true, 60)');
    await standby.set('synchronous_standby_names', '');
    this.#primary = standby;
    await this.#direct(standby);
  }

  async stop(): Promise<void> {
    // The standby first, because a primary's shutdown waits for its WAL sender.
    await this.standby.kill();
    await this.#primary.stop();
  }

  async #streaming(): Promise<string | undefined> {
    const [row] = await this.#primary.query<{ sync_state: string }>(
      "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming' AND application_name = $1",
      [this.standby.name],
    );
    return row?.sync_state;
  }
}
