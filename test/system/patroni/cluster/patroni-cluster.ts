import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { postgresAccount } from '#pkg/database/embedded/account';
import { HaproxyProcess } from '../../harness/process/haproxy-process.ts';
import { LoopbackAddresses } from '../../harness/process/loopback.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { haproxyText, ports, type Machine } from './config-files.ts';
import { EtcdCluster } from './etcd-cluster.ts';
import { LeaderKey } from './leader-key.ts';
import { connectTo, PatroniNode } from './patroni-node.ts';

export const database = 'svc';
/** How svc finds the primary. */
export const recipes = ['several hosts', 'haproxy'] as const;
export type Recipe = (typeof recipes)[number];

const login = 'svc:choose-another-5';
const etcdMembers = 3;
const startTimeoutMs = 120_000;
/** Until a killed server has rejoined. */
const rejoinTimeoutMs = 120_000;
const requestTimeoutMs = 20_000;

export interface PatroniClusterOptions {
  folder: string;
  /** PostgreSQL servers; etcd has three members in any case. */
  size: 2 | 3;
  isSynchronous: boolean;
}

interface Member {
  name: string;
  role: string;
  state: string;
}

/** etcd, PostgreSQL under Patroni, and haproxy that leads to the primary, as docs/availability.md shows them. */
export class PatroniCluster {
  readonly nodes: readonly PatroniNode[];
  readonly leaderKey: LeaderKey;
  readonly isSynchronous: boolean;
  readonly etcd: EtcdCluster;
  readonly #balancerHost: string;
  #haproxy: HaproxyProcess | undefined;

  static async start({ folder, size, isSynchronous }: PatroniClusterOptions): Promise<PatroniCluster> {
    const addresses = new LoopbackAddresses();
    const machines = Array.from({ length: etcdMembers }, (_, i) => ({ name: `db${i + 1}`, host: addresses.take() }));
    const home = join(folder, 'postgres');
    await mkdir(home, { recursive: true });
    const account = await postgresAccount();
    if (account !== undefined) await chown(home, account.uid, account.gid);
    const nodes: PatroniNode[] = [];
    for (const machine of machines.slice(0, size))
      nodes.push(await PatroniNode.prepare({ machines, machine, folder: home, isSynchronous }));
    const etcd = await EtcdCluster.start(folder, machines);
    const cluster = new PatroniCluster({ nodes, etcd, isSynchronous, balancerHost: addresses.take() });
    try {
      await cluster.#bootstrap(folder, machines.slice(0, size));
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  private constructor({
    nodes,
    etcd,
    isSynchronous,
    balancerHost,
  }: Pick<PatroniCluster, 'nodes' | 'isSynchronous' | 'etcd'> & { balancerHost: string }) {
    this.nodes = nodes;
    this.isSynchronous = isSynchronous;
    this.leaderKey = new LeaderKey(etcd.urls);
    this.etcd = etcd;
    this.#balancerHost = balancerHost;
  }

  /** For `svc.database.url`: through haproxy, and with all hosts. */
  get urls(): Record<Recipe, string> {
    const hosts = this.nodes.map(({ host }) => `${host}:${ports.postgres}`).join(',');
    return {
      haproxy: `postgres://${login}@${this.#balancerHost}:${ports.postgres}/${database}`,
      'several hosts': `postgres://${login}@${hosts}/${database}?target_session_attrs=read-write`,
    };
  }

  /** The server that its Patroni calls the primary. Throws if there is none now. */
  async primary(): Promise<PatroniNode> {
    const answers = await Promise.all(this.nodes.map((node) => node.isPrimary().catch(() => false)));
    const primary = this.nodes[answers.indexOf(true)];
    if (primary === undefined) throw new Error('there is no primary');
    return primary;
  }

  /** A session as superuser with the primary's database. */
  async connect(): Promise<pg.Client> {
    return (await this.primary()).connect(database);
  }

  connectThroughHaproxy(): Promise<pg.Client> {
    return connectTo(this.#balancerHost, database, this.nodes[0]!.file);
  }

  /** Runs one statement on the primary, in its own session. */
  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = await this.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Asks Patroni to make another server the primary; resolves with its answer. */
  async switchOver(from: PatroniNode): Promise<string> {
    const { username, password } = from.file.restapi.authentication;
    const answer = await fetch(`${from.restUrl}/switchover`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
      },
      body: JSON.stringify({ leader: from.name }),
      signal: AbortSignal.timeout(requestTimeoutMs),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`Patroni refused a switchover: ${answer.status} ${text}`);
    return text;
  }

  /** Resolves when all servers stream from the primary, and commits wait for each if they wait. */
  async untilWhole(): Promise<void> {
    await retryUntilTrue(() => this.#isWhole(), {
      what: 'every PostgreSQL server has joined',
      timeoutMs: rejoinTimeoutMs,
      intervalMs: 250,
    });
  }

  async stop(): Promise<void> {
    await this.leaderKey.stop();
    await this.#haproxy?.stop();
    // Killed: the data is not used again.
    await Promise.all(this.nodes.map((node) => node.kill()));
    await this.etcd.kill();
  }

  async #bootstrap(folder: string, machines: readonly Machine[]): Promise<void> {
    const [first, ...others] = this.nodes;
    await first!.launch();
    await retryUntilTrue(() => first!.isPrimary(), {
      what: 'the first server is the primary',
      timeoutMs: startTimeoutMs,
    });
    this.leaderKey.start();
    for (const node of others) await node.launch();
    await this.untilWhole();
    const client = await first!.connect('postgres');
    try {
      await client.query(`CREATE ROLE svc LOGIN PASSWORD 'choose-another-5'`);
      await client.query(`CREATE DATABASE ${database} OWNER svc`);
    } finally {
      await client.end();
    }
    await this.query('CREATE SCHEMA probe');
    await this.query('CREATE TABLE probe.commits (at timestamptz)');
    const balancer = join(folder, 'balancer');
    await mkdir(balancer);
    this.#haproxy = await HaproxyProcess.start(balancer, await haproxyText(machines, this.#balancerHost), {
      isReady: async () => {
        await (await this.connectThroughHaproxy()).end();
        return true;
      },
    });
  }

  async #isWhole(): Promise<boolean> {
    const primary = await this.primary();
    const answer = await fetch(`${primary.restUrl}/cluster`, { signal: AbortSignal.timeout(requestTimeoutMs) });
    const { members } = (await answer.json()) as { members: Member[] };
    const count = (isWanted: (member: Member) => boolean): number => members.filter(isWanted).length;
    const { length } = this.nodes;
    if (count(({ state }) => ['running', 'streaming'].includes(state)) < length) return false;
    if (this.isSynchronous && count(({ role }) => role === 'sync_standby') < length - 1) return false;
    const client = await primary.connect('postgres');
    try {
      const { rows } = await client.query(
        "SELECT FROM pg_stat_replication WHERE state = 'streaming' AND NOT starts_with(application_name, 'pg_')",
      );
      return rows.length === this.nodes.length - 1;
    } finally {
      await client.end();
    }
  }
}
