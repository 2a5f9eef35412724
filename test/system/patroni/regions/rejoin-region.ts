import { setTimeout as delay } from 'node:timers/promises';
import { now } from '../../harness/history/instant.ts';
import { runProgram } from '../../harness/process/server-process.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { describeError } from '../../harness/run/describe-error.ts';
import type { CheckReport } from '../../harness/run/check-report.ts';
import { database } from '../cluster/patroni-cluster.ts';
import type { PatroniNode } from '../cluster/patroni-node.ts';
import type { Region } from './region.ts';

const pollMs = 50;
const startTimeoutMs = 120_000;

export interface RejoinOptions {
  /** Was lost, and all its processes are ended. */
  former: Region;
  /** Its primary when it was lost. */
  primary: PatroniNode;
  /** Took over. */
  active: Region;
  report: CheckReport;
}

/** Starts the etcd of a lost region, makes it a standby, and only then starts its servers. Returns milliseconds. */
export async function rejoinFenced({ former, primary, active, report }: RejoinOptions): Promise<number> {
  await former.etcd.launch();
  const watch = new PrimaryWatch(former);
  watch.start();
  const took = await startAsStandby(former, { primary, active });
  await watch.stop();
  report.check(
    'a region that comes back behind its fence never takes a write',
    watch.looks > 0 && watch.primaries.length === 0,
    `${watch.looks} looks; ${watch.primaries.slice(0, 3).join('; ')}`,
  );
  return took;
}

/**
 * Lets a lost region start by itself, as a second primary that takes a write; stops it, and sets it up anew as a
 * standby. Returns milliseconds from the start of its servers.
 */
export async function rejoinUnfenced({ former, active, report }: RejoinOptions): Promise<number> {
  await former.etcd.launch();
  await former.launch();
  // Patroni may name a leader that PostgreSQL has not promoted yet.
  const takesWrite = async (): Promise<boolean> => {
    await former.query('INSERT INTO probe.commits VALUES (to_timestamp(1))');
    return true;
  };
  await retryUntilTrue(takesWrite, { what: 'a region without a fence takes a write', timeoutMs: startTimeoutMs });
  await former.stop();
  // Both regions may have given their new timeline the same number: then pg_rewind sees no difference.
  await former.beginAnew(active);
  const began = now();
  await former.launchInTurn();
  await untilFollowing(former.nodes, active);
  const took = now() - began;
  const rows = await former.query('SELECT FROM probe.commits WHERE at = to_timestamp(1)');
  report.check('a write that two primaries took apart is gone after the return', rows.length === 0);
  return took;
}

/** Starts the last primary, which Patroni rewinds, and then the other server, which copies it. */
async function startAsStandby(
  former: Region,
  { primary, active }: Pick<RejoinOptions, 'primary' | 'active'>,
): Promise<number> {
  await former.follow(active);
  const began = now();
  await primary.launch();
  await untilFollowing([primary], active);
  for (const node of former.nodes) if (node !== primary) await node.launch();
  await former.copyLeader();
  await untilFollowing(former.nodes, active);
  return now() - began;
}

/** Resolves when these servers have a write that the active region takes now. Positions do not tell histories apart. */
export async function untilFollowing(nodes: readonly PatroniNode[], active: Region): Promise<void> {
  const [mark] = await active.query<{ at: string }>(
    'INSERT INTO probe.commits VALUES (clock_timestamp()) RETURNING at::text',
  );
  for (const node of nodes) {
    const hasMark = async (): Promise<boolean> => {
      const client = await node.connect(database);
      try {
        return (await client.query('SELECT FROM probe.commits WHERE at = $1', [mark?.at])).rows.length > 0;
      } finally {
        await client.end();
      }
    };
    await retryUntilTrue(hasMark, { what: `${node.name} follows region ${active.name}`, timeoutMs: startTimeoutMs });
  }
}

/** svc with the URL of a region that is a standby must end with a reason. */
export async function checkRefusal(
  former: Region,
  { folder, report }: { folder: string; report: CheckReport },
): Promise<void> {
  const answer = await runProgram({ command: 'migrate', folder, args: [`--svc.database.url=${former.url}`] }).catch(
    describeError,
  );
  report.check('svc refuses a region that is a standby', /standby|read-write/.test(answer), answer.slice(0, 300));
}

/** Asks each server of a region all the time whether it takes writes. */
class PrimaryWatch {
  readonly primaries: string[] = [];
  /** How often a server answered. */
  looks = 0;
  readonly #region: Region;
  #isOver = false;
  #work: Promise<unknown> = Promise.resolve();

  constructor(region: Region) {
    this.#region = region;
  }

  start(): void {
    this.#work = Promise.all(this.#region.nodes.map((_, i) => this.#follow(i)));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  async #follow(i: number): Promise<void> {
    const node = this.#region.nodes[i]!;
    while (!this.#isOver) {
      const client = await node.connect(database).catch(() => undefined);
      try {
        const answer = await client?.query<{ isStandby: boolean }>('SELECT pg_is_in_recovery() AS "isStandby"');
        if (answer !== undefined) this.looks += 1;
        if (answer?.rows[0]?.isStandby === false) this.primaries.push(node.name);
      } catch {
        // It ended meanwhile.
      }
      await client?.end().catch(() => undefined);
      await delay(pollMs);
    }
  }
}
