import { formatTimestamp, type Condition } from '#pkg/apimachinery/index';
import { setCondition } from '#pkg/apis/index';

/** The types of a Plugin's conditions. */
export type PluginConditionType =
  /** Its folder exists, and its manifest, module and presets are readable. */
  | 'FilesValid'
  /** The platform has the required version, and its dependencies have started. */
  | 'DependenciesMet'
  /** Its models are served. */
  | 'ModelsServed'
  /** Its presets exist. */
  | 'PresetsApplied'
  /** Presets that a user had created before were adopted; the message names them. */
  | 'Adopted'
  /** Its worker and its controllers run. */
  | 'Healthy'
  /** False if reconciles fail repeatedly; absent otherwise. */
  | 'ReconcilesSucceed'
  /**
   * False if newer files could not be started and the old version keeps running; absent if it runs its current files.
   */
  | 'Reloaded';

/** The new value of a condition; `undefined` removes it. */
export type ConditionChange = { isTrue: boolean; reason: string; message?: string } | undefined;

export type ConditionChanges = Partial<Record<PluginConditionType, ConditionChange>>;

/** Limit of a message; the log has all of it. Characters. */
const maxMessageLength = 4000;

/** Applies the changes; the transition time of a condition changes only with its status. */
export function changeConditions(
  present: readonly Condition[],
  changes: ConditionChanges,
  observedGeneration: number,
): Condition[] {
  const now = formatTimestamp(Date.now());
  let conditions = [...present];
  for (const [type, change] of Object.entries(changes)) {
    if (change === undefined) conditions = conditions.filter((condition) => condition.type !== type);
    else
      conditions = setCondition(
        conditions,
        {
          type,
          status: change.isTrue ? 'True' : 'False',
          reason: change.reason,
          message: storable(change.message ?? ''),
          observedGeneration,
        },
        now,
      );
  }
  return conditions;
}

/** A message may quote any text, but the API cannot store every character. */
function storable(message: string): string {
  return Buffer.from(message.slice(0, maxMessageLength)).toString().replaceAll('\0', '\uFFFD');
}
