import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { now } from '../../harness/history/instant.ts';
import { database, type PatroniCluster } from '../cluster/patroni-cluster.ts';
import type { PatroniNode } from '../cluster/patroni-node.ts';

const pauseMs = 20;

/** When each step of a change of the primary was done; undefined before. */
export interface Milestones {
  /** The kill, or the request for a switchover. */
  began: number;
  /** Another Patroni took the lock. */
  locked?: number;
  /** Its PostgreSQL committed a write, without waiting for a standby. */
  promoted?: number;
  /** Its PostgreSQL acknowledged a commit that waits for a standby, if commits wait. */
  replicated?: number;
  /** haproxy leads to it. */
  routed?: number;
  /** The new primary. */
  primary?: PatroniNode;
}

/** Follows a change of the primary by SQL, directly on the other servers and through haproxy. */
export class OutageProbe {
  readonly milestones: Milestones = { began: now() };
  readonly #cluster: PatroniCluster;
  readonly #former: PatroniNode;
  #isOver = false;
  #work: Promise<unknown> = Promise.resolve();

  constructor(cluster: PatroniCluster, former: PatroniNode) {
    this.#cluster = cluster;
    this.#former = former;
  }

  /** Call it just before the change. */
  start(): void {
    this.milestones.began = now();
    const others = this.#cluster.nodes.filter((node) => node !== this.#former);
    this.#work = Promise.all([...others.map((node) => this.#followServer(node)), this.#followHaproxy()]);
  }

  get isDone(): boolean {
    const { milestones } = this;
    const taken = this.#cluster.leaderKey.takenAfter(milestones.began, this.#former.name);
    if (taken !== undefined) milestones.locked = taken.at;
    const { locked, replicated, routed } = milestones;
    return locked !== undefined && replicated !== undefined && routed !== undefined;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  /** One session is kept: it survives the promotion. */
  async #followServer(node: PatroniNode): Promise<void> {
    const { milestones } = this;
    await this.#withSessions(
      () => node.connect(database),
      async (client) => {
        if (milestones.replicated !== undefined) return true;
        if (await isStandby(client)) return false;
        await client.query('SET synchronous_commit = local');
        await client.query('INSERT INTO probe.commits VALUES (clock_timestamp())');
        milestones.promoted ??= now();
        milestones.primary ??= node;
        // A standby that was ahead of the new primary on the old timeline confirms commits that it does not have, up to
        // the position that it had reached. This commit lies above that.
        await client.query('SELECT pg_switch_wal()');
        await client.query('SET synchronous_commit = on');
        await client.query('INSERT INTO probe.commits VALUES (clock_timestamp())');
        milestones.replicated ??= now();
        return true;
      },
    );
  }

  async #followHaproxy(): Promise<void> {
    while (!this.#isOver && this.milestones.promoted === undefined) await delay(pauseMs);
    await this.#withSessions(
      () => this.#cluster.connectThroughHaproxy(),
      async (client) => {
        if (await isStandby(client)) return false;
        this.milestones.routed ??= now();
        return true;
      },
    );
  }

  /** Repeats `work` until it is true, in a new session after a failure. */
  async #withSessions(connect: () => Promise<pg.Client>, work: (client: pg.Client) => Promise<boolean>): Promise<void> {
    let client: pg.Client | undefined;
    while (!this.#isOver) {
      try {
        client ??= await connect();
        if (await work(client)) break;
      } catch {
        void client?.end().catch(() => undefined);
        client = undefined;
      }
      await delay(pauseMs);
    }
    await client?.end().catch(() => undefined);
  }
}

async function isStandby(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ isStandby: boolean }>('SELECT pg_is_in_recovery() AS "isStandby"');
  return rows[0]?.isStandby !== false;
}
