import { formatTimestamp, type AnyObject, type ApiObject, type Condition } from '#pkg/apimachinery/index';
import { setCondition } from '#pkg/apis/index';

/** The content of one condition, as a controller sets it. */
export type ConditionFacts = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** An object whose status has conditions. */
export type ConditionedObject = ApiObject<unknown, { conditions?: Condition[] }>;

export function conditionOf({ status }: ConditionedObject, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

/** Whether the condition is true for the object's present generation. A condition without a generation counts too. */
export function isConditionTrue(object: ConditionedObject, type: string): boolean {
  const condition = conditionOf(object, type);
  const { observedGeneration = object.metadata.generation } = condition ?? {};
  return condition?.status === 'True' && observedGeneration === object.metadata.generation;
}

/**
 * A copy of the object with one condition set; pass it to `writeChanges` together with the unchanged original.
 * `observedGeneration` is the object's own; `lastTransitionTime` changes only with `status`, so that an unchanged
 * condition causes no write.
 */
export function withCondition<T extends AnyObject & ConditionedObject>(object: T, facts: ConditionFacts): T {
  const { generation } = object.metadata;
  const condition = { ...facts, ...(generation === undefined ? {} : { observedGeneration: generation }) };
  const conditions = setCondition(object.status?.conditions ?? [], condition, formatTimestamp(Date.now()));
  return { ...object, status: { ...object.status, conditions } };
}
