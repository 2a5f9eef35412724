import type { Condition } from '#pkg/apimachinery/index';

/**
 * The conditions with one of them set, in its place or at the end; the input is not changed. `lastTransitionTime` moves
 * to `now` (RFC 3339, UTC) only when `status` changes. Source: meta.SetStatusCondition.
 */
export function setCondition(
  conditions: readonly Condition[],
  condition: Omit<Condition, 'lastTransitionTime'>,
  now: string,
): Condition[] {
  const old = conditions.find(({ type }) => type === condition.type);
  // An old condition may come from a client that omitted the time or wrote null.
  const unchangedSince =
    old !== undefined && old.status === condition.status && typeof old.lastTransitionTime === 'string';
  const fresh: Condition = { ...condition, lastTransitionTime: unchangedSince ? old.lastTransitionTime : now };
  return old === undefined ? [...conditions, fresh] : conditions.map((each) => (each === old ? fresh : each));
}
