import { setTimeout as delay } from 'node:timers/promises';
import { now } from '../../harness/history/instant.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { newestGap, type Gap } from '../cluster/newest-gap.ts';
import { database } from '../cluster/patroni-cluster.ts';
import type { PatroniNode } from '../cluster/patroni-node.ts';
import type { SupervisedServer } from '../cluster/supervised-server.ts';
import type { RegionClients } from './region-clients.ts';
import type { RegionSteps } from './region-table.ts';
import type { Region } from './region.ts';

const promotionMs = 120_000;
/** How much the other region is behind when a region is lost. Milliseconds. */
const heldBackMs = 300;

/** The region that svc serves from, with its server, and the other one. */
export interface Roles {
  active: Region;
  other: Region;
  server: SupervisedServer;
}

/** A change until svc works in the other region. */
export interface Takeover {
  began: number;
  gap: Gap;
  steps: Omit<RegionSteps, 'rejoin'>;
  /** The primary before. */
  former: PatroniNode;
  /** svc in the region that is active now. */
  server: SupervisedServer;
}

export interface TakeoverOptions {
  clients: RegionClients;
  startServer: (region: Region) => Promise<SupervisedServer>;
}

/** Stops the active region in the order in which it loses nothing, and promotes the other. */
export async function switchRegion({ active, other, server }: Roles, options: TakeoverOptions): Promise<Takeover> {
  const began = now();
  await server.stop();
  const svcStopped = now();
  const former = await active.stop(other);
  await untilReceived(other, await former.lastCheckpoint());
  await active.follow(other);
  const stopped = now();
  return takeOver(other, {
    began,
    former,
    ...options,
    before: { svcStops: svcStopped - began, regionStops: stopped - svcStopped },
  });
}

/** Kills everything of the active region while the other lacks its last commits, and promotes the other. */
export async function loseRegion({ active, other, server }: Roles, options: TakeoverOptions): Promise<Takeover> {
  const [primary, receiver] = await Promise.all([active.primary(), other.leader()]);
  if (primary === undefined || receiver === undefined) throw new Error('a region has no leader');
  await primary.pauseSenders([receiver.name]);
  await delay(heldBackMs);
  await Promise.all([active.kill(), server.kill()]);
  return takeOver(other, { began: now(), former: primary, before: {}, ...options });
}

/** Resolves when the region has the record at this position, which ends the WAL of the other. */
async function untilReceived(region: Region, position: string): Promise<void> {
  await retryUntilTrue(
    async () => {
      const [row] = await region.query<{ hasIt: boolean }>('SELECT pg_last_wal_replay_lsn() > $1 AS "hasIt"', [
        position,
      ]);
      return row?.hasIt === true;
    },
    { what: `region ${region.name} has everything`, timeoutMs: promotionMs },
  );
}

async function takeOver(
  region: Region,
  {
    began,
    former,
    before,
    clients,
    startServer,
  }: TakeoverOptions & Pick<Takeover, 'began' | 'former'> & { before: Pick<RegionSteps, 'svcStops' | 'regionStops'> },
): Promise<Takeover> {
  const commanded = now();
  await region.promote();
  await untilCommitting(region, 'local');
  const promoted = now();
  await untilCommitting(region, 'on');
  const replicated = now();
  const server = await startServer(region);
  clients.leadTo(server);
  const acknowledged = await clients.acknowledgedAfter(replicated);
  const gap = await newestGap(region);
  if (gap === undefined) throw new Error(`svc noticed no change of the region`);
  const steps = {
    ...before,
    promotion: promoted - commanded,
    standby: replicated - promoted,
    svcStarts: acknowledged - replicated,
    whole: acknowledged - began,
  };
  return { began, gap, steps, former, server };
}

/** Resolves when the region's primary has committed a write, with this `synchronous_commit`. */
async function untilCommitting(region: Region, synchronousCommit: 'local' | 'on'): Promise<void> {
  await retryUntilTrue(
    async () => {
      const primary = await region.primary();
      if (primary === undefined) return false;
      const client = await primary.connect(database);
      try {
        await client.query(`SET synchronous_commit = ${synchronousCommit}`);
        await client.query('INSERT INTO probe.commits VALUES (clock_timestamp())');
        return true;
      } finally {
        await client.end();
      }
    },
    { what: `region ${region.name} commits`, timeoutMs: promotionMs },
  );
}
