/** Answers by kind of request and status; `end` where the connection ended before one. */
export type AttackTally = Record<string, Record<string, number>>;

/** What the attack began with: without it there is little to attack. */
const preparations: Record<string, string> = { prepare: '201', 'prepare changes': '200' };

/** Kinds of requests that reached nothing, so that what they would have done was not tried. */
export function idleKindsIn(tally: AttackTally): string[] {
  return Object.entries(tally).flatMap(([kind, counts]) => {
    const statuses = Object.keys(counts);
    const wanted = preparations[kind];
    const isReached =
      wanted === undefined
        ? statuses.some((status) => status.startsWith('2'))
        : statuses.length === 1 && statuses[0] === wanted;
    return isReached ? [] : [`${kind} (${statuses.join(', ') || 'no answer'})`];
  });
}
