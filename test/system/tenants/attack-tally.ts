/** Responses by kind of request and status; `end` if the connection ended without a response. */
export type AttackTally = Record<string, Record<string, number>>;

/** The setup of the attack, without which it has no target. */
const preparations: Record<string, string> = { prepare: '201', 'prepare changes': '200' };

/** Kinds of requests without a success, so that their effect was not tested. */
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
