import type { Acknowledged } from '../harness/workload/marked-writer.ts';
import type { Gap } from './change-primary.ts';

/** What the clients of one server saw, and when it ended. */
export interface ServerRecord {
  name: string;
  acknowledged: readonly Acknowledged[];
  followers: readonly FollowerRecord[];
  ends: readonly { at: number }[];
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
  /** Servers that ended. */
  ends: number;
  violations: string[];
}

/**
 * What failovers to a standby that lacked commits lost, and whether exactly those who saw it were told: a watch by 410,
 * a server by its end.
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
    violations.push(...endViolations(server, changes));
  }
  return {
    lost,
    resets: servers.reduce(
      (sum, { followers }) => sum + followers.reduce((all, { resets }) => all + resets.length, 0),
      0,
    ),
    ends: servers.reduce((sum, { ends }) => sum + ends.length, 0),
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

/** It ends after a failover if and only if its clients saw through it what that failover lost. */
function endViolations(
  { name, acknowledged, followers, ends }: ServerRecord,
  changes: LossRecord['changes'],
): string[] {
  const seen = [
    ...acknowledged.map(({ revision }) => revision),
    ...followers.flatMap(({ sightings }) => [...sightings.keys()].map(revisionOf)),
  ];
  return changes.flatMap(({ began, gap }, i) => {
    const next = changes[i + 1]?.began ?? Infinity;
    const hasEnded = ends.some(({ at }) => at >= began && at < next);
    const hasSeen = seen.some((revision) => isIn(gap, revision));
    if (hasEnded === hasSeen) return [];
    return hasEnded
      ? [`${name} ended after a failover that lost nothing that it knew, above ${gap.after}`]
      : [`${name} knew what a failover lost, above ${gap.after}, and went on`];
  });
}

function isIn({ after, upTo }: Gap, revision: number): boolean {
  return revision > after && revision <= upTo;
}

function revisionOf(sighting: string): number {
  return Number(sighting.slice(sighting.lastIndexOf(' ') + 1));
}
