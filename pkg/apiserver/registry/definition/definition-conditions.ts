import { formatTimestamp, type Condition } from '#pkg/apimachinery/index';
import { setCondition, type CustomResourceDefinition } from '#pkg/apis/index';
import type { IndexBuildProgress, IndexState } from '#pkg/storage/index';
import type { WebhookState } from '../../conversion/conversion-webhook.ts';

/** Keeps a definition until its objects are deleted. Source: apiextensions.k8s.io/v1. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

export type DefinitionConditionFacts = Omit<Condition, 'lastTransitionTime'>;

/** Conditions that only the server sets. */
export const ownConditions: ReadonlySet<string> = new Set([
  'NamesAccepted',
  'Established',
  'Terminating',
  'IndexesReady',
  'ConversionReady',
]);

export const terminatingCondition: DefinitionConditionFacts = {
  type: 'Terminating',
  status: 'True',
  reason: 'InstanceDeletionPending',
  message: 'the objects of this resource are being deleted',
};

/** The condition IndexesReady for the states of a definition's indexes. */
export function indexesReady(states: readonly IndexState[]): DefinitionConditionFacts {
  const failed = states.filter(({ state }) => state === 'failed');
  if (failed.length > 0) {
    const message = failed.map(({ name, message: why = 'for an unknown reason' }) => `${name}: ${why}`).join('; ');
    return { type: 'IndexesReady', status: 'False', reason: 'BuildFailed', message: `building failed: ${message}` };
  }
  const building = states.filter(({ state }) => state === 'building');
  if (building.length > 0) {
    const message = building
      .map(({ name, progress }) => (progress === undefined ? name : `${name} (${formatProgress(progress)})`))
      .join(', ');
    return { type: 'IndexesReady', status: 'False', reason: 'Building', message: `being built: ${message}` };
  }
  return { type: 'IndexesReady', status: 'True', reason: 'Ready', message: 'all indexes are ready' };
}

/** The condition ConversionReady: does the conversion webhook answer? */
export function conversionReady({ reason, message }: WebhookState): DefinitionConditionFacts {
  return message === undefined
    ? { type: 'ConversionReady', status: 'True', reason, message: 'the conversion webhook answers' }
    : {
        type: 'ConversionReady',
        status: 'False',
        reason,
        message: `the conversion webhook: ${message}`.slice(0, 1024),
      };
}

function formatProgress({ phase, done, secondsLeft, waitsFor }: IndexBuildProgress): string {
  if (waitsFor !== undefined) {
    const { transactions, pid } = waitsFor;
    const which = pid === undefined ? '' : `; one is of the session with pid ${pid}`;
    return `${phase}: ${transactions} ${transactions === 1 ? 'transaction has' : 'transactions have'} to end${which}`;
  }
  if (done === undefined) return phase;
  const left = secondsLeft === undefined ? '' : `, ${formatTimeLeft(secondsLeft)} left in this phase`;
  return `${phase}: ${Math.floor(done * 100)}%${left}`;
}

/** Rounded, so that the text does not change all the time. */
function formatTimeLeft(seconds: number): string {
  if (seconds <= 10) return 'under 10 s';
  if (seconds <= 55) return `about ${Math.ceil(seconds / 10) * 10} s`;
  if (seconds <= 100 * 60) return `about ${Math.ceil(seconds / 60)} min`;
  return `about ${Math.ceil(seconds / 3600)} h`;
}

export function definitionConditionOf({ status }: CustomResourceDefinition, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

/** A copy of the definition with one condition set. */
export function withDefinitionCondition(
  definition: CustomResourceDefinition,
  facts: DefinitionConditionFacts,
): CustomResourceDefinition {
  const conditions = setCondition(definition.status?.conditions ?? [], facts, formatTimestamp(Date.now()));
  return { ...definition, status: { ...definition.status, conditions } };
}

/** A copy of the definition without one condition. */
export function withoutDefinitionCondition(
  definition: CustomResourceDefinition,
  type: string,
): CustomResourceDefinition {
  const conditions = (definition.status?.conditions ?? []).filter((condition) => condition.type !== type);
  return { ...definition, status: { ...definition.status, conditions } };
}

export function isTerminating({ metadata }: CustomResourceDefinition): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function hasCleanupFinalizer({ metadata }: CustomResourceDefinition): boolean {
  return metadata.finalizers?.includes(cleanupFinalizer) ?? false;
}
