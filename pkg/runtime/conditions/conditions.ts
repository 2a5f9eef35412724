import { formatTimestamp, type AnyObject, type ApiObject, type Condition } from '#pkg/apimachinery/index';
import { setCondition } from '#pkg/apis/index';

/** What a controller says of one aspect of an object. */
export type ConditionFacts = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** An object whose status has conditions. */
export type ConditionedObject = ApiObject<unknown, { conditions?: Condition[] }>;

export function conditionOf({ status }: ConditionedObject, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

/**
 * Does the condition hold, as said of the object's present generation? One that says nothing of generations counts as
 * well.
 */
export function isConditionTrue(object: ConditionedObject, type: string): boolean {
  const condition = conditionOf(object, type);
  const { observedGeneration = object.metadata.generation } = condition ?? {};
  return condition?.status === 'True' && observedGeneration === object.metadata.generation;
}

/**
 * The object with one condition set, to be given to `writeChanges` beside the object as it was read, which stays as it
 * is. `observedGeneration` is the object's own; `lastTransitionTime` moves only with `status`, so that saying the same
 * again writes nothing.
 */
export function withCondition<T extends AnyObject & ConditionedObject>(object: T, facts: ConditionFacts): T {
  const { generation } = object.metadata;
  const condition = { ...facts, ...(generation === undefined ? {} : { observedGeneration: generation }) };
  const conditions = setCondition(object.status?.conditions ?? [], condition, formatTimestamp(Date.now()));
  return { ...object, status: { ...object.status, conditions } };
}
