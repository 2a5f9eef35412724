import { setTimeout as delay } from 'node:timers/promises';
import { now } from '../../harness/history/instant.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { SeededRandom } from '../../harness/seeded-random.ts';
import { OutageProbe, type Milestones } from './outage.ts';
import type { ChangeKind, Outage } from './outage-table.ts';
import { newestGap, type Gap } from '../cluster/newest-gap.ts';
import { recipes, type PatroniCluster, type Recipe } from '../cluster/patroni-cluster.ts';

/** Until svc acknowledges writes again, from the change. Milliseconds. */
const recoveryMs = 120_000;
/** How much a standby is behind when the primary is killed, if it is held back. Milliseconds. */
const heldBackMs = 300;

const limits = { timeoutMs: recoveryMs, intervalMs: 20 };

/** A change of the primary that is over. */
export interface PrimaryChange extends Outage {
  began: number;
  gap: Gap;
}

/** A write that shows that a server works again. */
export interface WantedWrite {
  /** Its revision, so that the new primary made it. */
  above: number;
  /** Its acknowledgement. */
  since: number;
}

export interface ChangeOptions {
  cluster: PatroniCluster;
  kind: ChangeKind;
  /** Before a kill, standbys miss the last commits. */
  isHeldBack?: boolean;
  /** When the server of this recipe first acknowledged such a write; undefined before. */
  firstAcknowledged: (recipe: Recipe, wanted: WantedWrite) => number | undefined;
}

/** As many switchovers as kills, in an order that the seed decides. */
export function shuffledChanges({ seed, count }: { seed: number; count: number }): ChangeKind[] {
  const kinds = Array.from({ length: 2 * count }, (_, i): ChangeKind => (i < count ? 'switchover' : 'kill'));
  return new SeededRandom(seed).fork('changes').shuffled(kinds);
}

/** Changes the primary under load; resolves when svc works again and all PostgreSQL servers have joined. */
export async function changePrimary(options: ChangeOptions): Promise<PrimaryChange> {
  const { cluster, kind, isHeldBack, firstAcknowledged } = options;
  const former = await cluster.primary();
  const newest = await newestGap(cluster);
  if (kind === 'kill' && isHeldBack === true) {
    await former.pauseSenders();
    await delay(heldBackMs);
  }
  const probe = new OutageProbe(cluster, former);
  probe.start();
  // Patroni answers when the switchover is over.
  const changed = kind === 'kill' ? former.kill() : cluster.switchOver(former).then(() => undefined);
  // It may reject while nothing awaits it.
  changed.catch(() => undefined);
  try {
    const { milestones } = probe;
    await retryUntilTrue(() => probe.isDone, { what: `there is a primary after a ${kind}`, ...limits });
    let gap: Gap | undefined;
    await retryUntilTrue(
      async () => {
        gap = await newestGap(cluster);
        return (gap?.upTo ?? 0) > (newest?.upTo ?? 0);
      },
      { what: `svc noticed the ${kind}`, ...limits },
    );
    // Commits that a standby confirmed without having them, as the probe knows, are not counted.
    const wanted = { above: gap!.upTo, since: milestones.replicated ?? now() };
    await retryUntilTrue(() => recipes.every((recipe) => firstAcknowledged(recipe, wanted) !== undefined), {
      what: `both servers acknowledge writes after a ${kind}`,
      ...limits,
    });
    const [severalHosts, haproxy] = recipes.map((recipe) => firstAcknowledged(recipe, wanted)!);
    await changed;
    if (kind === 'kill') await former.launch();
    await cluster.untilWhole();
    const acknowledged = { 'several hosts': severalHosts!, haproxy: haproxy! };
    return { ...outageOf(kind, milestones, acknowledged), began: milestones.began, gap: gap! };
  } finally {
    await probe.stop();
  }
}

/** The steps may overlap: a part that was over before the one before it has no length. */
function outageOf(kind: ChangeKind, milestones: Milestones, acknowledged: Record<Recipe, number>): Outage {
  const { began, locked = now(), promoted = now(), replicated = now(), routed = now() } = milestones;
  const from = (earlier: number, later: number): number => Math.max(0, later - earlier);
  return {
    kind,
    detection: from(began, locked),
    promotion: from(locked, promoted),
    standby: from(promoted, replicated),
    haproxy: from(replicated, routed),
    own: {
      'several hosts': from(replicated, acknowledged['several hosts']),
      haproxy: from(Math.max(replicated, routed), acknowledged.haproxy),
    },
    whole: {
      'several hosts': from(began, acknowledged['several hosts']),
      haproxy: from(began, acknowledged.haproxy),
    },
  };
}
