import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { postgresAccount } from '#pkg/database/embedded/account';
import type { LoopbackAddresses } from '../../harness/process/loopback.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { ports, type Machine } from '../cluster/config-files.ts';
import { EtcdCluster } from '../cluster/etcd-cluster.ts';
import { database } from '../cluster/patroni-cluster.ts';
import { PatroniNode } from '../cluster/patroni-node.ts';
import { copyArguments, followArguments, promoteArguments } from './region-commands.ts';

const size = 2;
const startTimeoutMs = 120_000;
const limits = { timeoutMs: startTimeoutMs, intervalMs: 100 };

export interface RegionOptions {
  /** A letter: its servers are `a1` and `a2`. */
  name: string;
  folder: string;
  addresses: LoopbackAddresses;
  /** Begins as a standby of this region. */
  standbyOf?: Region;
}

/** Two PostgreSQL servers under Patroni, with an etcd of their own. Commits wait for the standby in the region. */
export class Region {
  readonly name: string;
  readonly nodes: readonly PatroniNode[];
  readonly etcd: EtcdCluster;

  /** Resolves when both servers run. */
  static async start({ name, folder, addresses, standbyOf }: RegionOptions): Promise<Region> {
    const machines = Array.from({ length: size }, (_, i): Machine => ({
      name: `${name}${i + 1}`,
      host: addresses.take(),
    }));
    const home = join(folder, `region-${name}`);
    await mkdir(home, { recursive: true });
    const account = await postgresAccount();
    if (account !== undefined) await chown(home, account.uid, account.gid);
    const withEtcd = machines.slice(0, 1);
    const standbyCluster = standbyOf === undefined ? {} : { standbyCluster: standbyOf.address };
    const nodes: PatroniNode[] = [];
    for (const machine of machines)
      nodes.push(
        await PatroniNode.prepare({
          machines: withEtcd,
          machine,
          folder: home,
          isSynchronous: true,
          ...standbyCluster,
        }),
      );
    const region = new Region(name, nodes, await EtcdCluster.start(home, withEtcd));
    try {
      await region.launchInTurn();
      return region;
    } catch (error) {
      await region.kill();
      throw error;
    }
  }

  private constructor(name: string, nodes: readonly PatroniNode[], etcd: EtcdCluster) {
    this.name = name;
    this.nodes = nodes;
    this.etcd = etcd;
  }

  get hosts(): string[] {
    return this.nodes.map(({ host }) => host);
  }

  /** For `standby_cluster`. */
  get address(): { host: string; port: number } {
    return { host: this.hosts.join(','), port: ports.postgres };
  }

  /** For `svc.database.url`: this region's servers only. */
  get url(): string {
    const hosts = this.hosts.map((host) => `${host}:${ports.postgres}`).join(',');
    return `postgres://svc:choose-another-5@${hosts}/${database}?target_session_attrs=read-write`;
  }

  /** The server with the lock of the region's etcd: the primary, or what follows the other region. */
  async leader(): Promise<PatroniNode | undefined> {
    return this.#answering('leader');
  }

  /** Undefined in a standby cluster. */
  async primary(): Promise<PatroniNode | undefined> {
    return this.#answering('primary');
  }

  /** A session as superuser with the region's leader. */
  async connect(name = database): Promise<pg.Client> {
    const leader = await this.leader();
    if (leader === undefined) throw new Error(`region ${this.name} has no leader`);
    return leader.connect(name);
  }

  /** Runs one statement on the region's leader. */
  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = await this.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Makes it a standby of the other region; a primary of it is ended at once. Needs etcd only. */
  async follow(other: Region): Promise<void> {
    await this.nodes[0]!.ctl(...followArguments(other.hosts));
  }

  /** Makes it a region with a primary; resolves before there is one. */
  async promote(): Promise<void> {
    await this.nodes[0]!.ctl(...promoteArguments);
  }

  /** Stops the standby, then the primary, which sends a region that follows everything before it ends. Returns it. */
  async stop(follower?: Region): Promise<PatroniNode> {
    const leader = await this.leader();
    if (leader === undefined) throw new Error(`region ${this.name} has no leader`);
    for (const node of this.nodes) if (node !== leader) await node.stop();
    // The other region may have followed the standby.
    if (follower !== undefined) await this.untilFollowedBy(follower);
    await leader.stop();
    return leader;
  }

  /** Starts a server whose data the others copy, and then them; resolves when they follow it. */
  async launchInTurn(): Promise<void> {
    const [first, ...others] = this.nodes;
    await first!.launch();
    await retryUntilTrue(async () => (await this.leader()) !== undefined, {
      what: `region ${this.name} has a leader`,
      ...limits,
    });
    for (const node of others) await node.launch();
    await this.untilStreaming();
  }

  /** Forgets the cluster and its data, and sets it up again as a standby of the other region. Needs etcd only. */
  async beginAnew(other: Region): Promise<void> {
    await this.etcd.forget();
    for (const node of this.nodes) await node.beginAnew(other.address);
  }

  async launch(): Promise<void> {
    for (const node of this.nodes) await node.launch();
  }

  /** All processes at once (SIGKILL), etcd too. */
  async kill(): Promise<void> {
    await Promise.all([...this.nodes.map((node) => node.kill()), this.etcd.kill()]);
  }

  /** Copies the leader's data to the other server. */
  async copyLeader(): Promise<void> {
    const leader = await this.leader();
    if (leader === undefined) throw new Error(`region ${this.name} has no leader`);
    for (const node of this.nodes) {
      if (node === leader) continue;
      // patronictl knows a server as a replica once its Patroni has said so in etcd.
      const isListed = async (): Promise<boolean> =>
        / Replica | Sync Standby /.test(lineOf(node, await leader.ctl('list')));
      await retryUntilTrue(isListed, { what: `patronictl list shows ${node.name} as a replica`, ...limits });
      await leader.ctl(...copyArguments(node.name));
    }
  }

  /** Resolves when the leader sends its changes to the other server of the region. */
  async untilStreaming(): Promise<void> {
    await this.#untilSending(async (leader) => this.nodes.filter((node) => node !== leader).map(({ name }) => name));
  }

  /** Resolves when the leader sends its changes to the leader of the other region. */
  async untilFollowedBy(other: Region): Promise<void> {
    await this.#untilSending(async () => {
      const leader = await other.leader();
      return leader === undefined ? ['the leader of another region'] : [leader.name];
    });
  }

  async #untilSending(receivers: (leader: PatroniNode) => Promise<string[]>): Promise<void> {
    await retryUntilTrue(
      async () => {
        const leader = await this.leader();
        if (leader === undefined) return false;
        const client = await leader.connect('postgres');
        try {
          const { rows } = await client.query<{ name: string }>(
            "SELECT application_name AS name FROM pg_stat_replication WHERE state = 'streaming'",
          );
          const names = new Set(rows.map(({ name }) => name));
          return (await receivers(leader)).every((name) => names.has(name));
        } finally {
          await client.end();
        }
      },
      { what: `the servers that follow region ${this.name} have joined`, ...limits },
    );
  }

  async #answering(check: 'leader' | 'primary'): Promise<PatroniNode | undefined> {
    const answers = await Promise.all(this.nodes.map((node) => node.answers(check).catch(() => false)));
    return this.nodes[answers.indexOf(true)];
  }
}

function lineOf({ name }: PatroniNode, list: string): string {
  return list.split('\n').find((line) => line.includes(` ${name} `)) ?? '';
}
