import type { Acknowledged } from '../../harness/workload/marked-writer.ts';
import type { Gap } from './newest-gap.ts';

/** What the clients of one server saw, when it rebuilt its state, and when it ended; absent where that is not judged. */
export interface ServerRecord {
  name: string;
  acknowledged: readonly Acknowledged[];
  followers: readonly FollowerRecord[];
  rebuilds?: readonly { at: number }[];
  ends?: readonly { at: number }[];
}

/** The parts of a Follower that count. */
export interface FollowerRecord {
  /** `name at revision` of each state that it saw. */
  sightings: ReadonlyMap<string, string>;
  /** When it was answered 410, and the position that it had reached. */
  resets: readonly { at: number; position: number }[];
}

export interface LossRecord {
  servers: readonly ServerRecord[];
  /** The failovers, in order. */
  changes: readonly { began: number; gap: Gap }[];
  /** All revisions of the log in the end. */
  log: ReadonlySet<number>;
}

export interface Losses {
  lost: Acknowledged[];
  /** Answers of 410. */
  resets: number;
  /** Times that a server rebuilt its state. */
  rebuilds: number;
  violations: string[];
}

/**
 * What failovers to a standby that lacked commits lost, and whether exactly those who saw it were told: a watch by 410,
 * a server by a rebuild of its state. No server ends.
 */
export function findLosses({ servers, changes, log }: LossRecord): Losses {
  const violations: string[] = [];
  const lost = servers.flatMap(({ acknowledged }) => acknowledged.filter(({ revision }) => !log.has(revision)));
  const gapOf = (revision: number): Gap | undefined =>
    changes.find(({ gap }) => revision > gap.after && revision <= gap.upTo)?.gap;
  for (const { marker, revision } of lost)
    if (gapOf(revision) === undefined) violations.push(`${marker} at ${revision} is lost, outside of every gap`);
  for (const revision of log)
    if (gapOf(revision) !== undefined) violations.push(`revision ${revision} lies in a gap, and is in the log`);
  for (const server of servers) {
    for (const [i, follower] of server.followers.entries())
      violations.push(...followerViolations(`follower ${i + 1} of ${server.name}`, follower, { changes, gapOf }));
    violations.push(...rebuildViolations(server, changes));
    const { name, ends = [] } = server;
    if (ends.length > 0) violations.push(`${name} ended ${ends.length} times`);
  }
  return {
    lost,
    resets: servers.reduce(
      (sum, { followers }) => sum + followers.reduce((all, { resets }) => all + resets.length, 0),
      0,
    ),
    rebuilds: servers.reduce((sum, { rebuilds = [] }) => sum + rebuilds.length, 0),
    violations,
  };
}

function followerViolations(
  name: string,
  { sightings, resets }: FollowerRecord,
  { changes, gapOf }: Pick<LossRecord, 'changes'> & { gapOf: (revision: number) => Gap | undefined },
): string[] {
  const seen = [...sightings.keys()].map(revisionOf);
  const unfounded = resets.filter(({ position }) => gapOf(position) === undefined);
  const untold = changes.filter(
    ({ gap }) => seen.some((revision) => isIn(gap, revision)) && !resets.some(({ position }) => isIn(gap, position)),
  );
  return [
    ...unfounded.map(({ position }) => `${name} was answered 410 at ${position}, which no failover lost`),
    ...untold.map(({ gap }) => `${name} saw a lost revision above ${gap.after}, and was not answered 410`),
  ];
}

/** It rebuilds its state after a failover if and only if its clients saw through it what that failover lost. */
function rebuildViolations(
  { name, acknowledged, followers, rebuilds }: ServerRecord,
  changes: LossRecord['changes'],
): string[] {
  if (rebuilds === undefined) return [];
  const seen = [
    ...acknowledged.map(({ revision }) => revision),
    ...followers.flatMap(({ sightings }) => [...sightings.keys()].map(revisionOf)),
  ];
  return changes.flatMap(({ began, gap }, i) => {
    const next = changes[i + 1]?.began ?? Infinity;
    const hasRebuilt = rebuilds.some(({ at }) => at >= began && at < next);
    const hasSeen = seen.some((revision) => isIn(gap, revision));
    if (hasRebuilt === hasSeen) return [];
    return hasRebuilt
      ? [`${name} rebuilt its state after a failover that lost nothing that it knew, above ${gap.after}`]
      : [`${name} knew what a failover lost, above ${gap.after}, and went on`];
  });
}

function isIn({ after, upTo }: Gap, revision: number): boolean {
  return revision > after && revision <= upTo;
}

function revisionOf(sighting: string): number {
  return Number(sighting.slice(sighting.lastIndexOf(' ') + 1));
}
