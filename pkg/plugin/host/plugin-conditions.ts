import { formatTimestamp, type Condition } from '#pkg/apimachinery/index';
import { setCondition } from '#pkg/apis/index';

/** What the conditions of a Plugin speak of. */
export type PluginConditionType =
  /** Its folder is there, and its manifest, module and presets can be read. */
  | 'FilesValid'
  /** The platform has the version it requires, and the plugins it depends on are started. */
  | 'DependenciesMet'
  /** Its models are served. */
  | 'ModelsServed'
  /** What it ships is there. */
  | 'PresetsApplied'
  /** Presets that a person had made before were taken over; the message names them. */
  | 'Adopted'
  /** Its worker runs, and its controllers do. */
  | 'Healthy'
  /** False where reconciles fail again and again; absent where they do not. */
  | 'ReconcilesSucceed'
  /** False where newer files could not be started, and the version before goes on; absent where it is as its files. */
  | 'Reloaded';

/** What holds of one aspect, and why; `undefined` takes the condition away. */
export type ConditionChange = { isTrue: boolean; reason: string; message?: string } | undefined;

export type ConditionChanges = Partial<Record<PluginConditionType, ConditionChange>>;

/** Of a message: the rest is in the log. Characters. */
const longestMessage = 4000;

/** The conditions with these changes; the time of one moves only with its status. */
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

/** A message may quote anything, but not everything can be stored. */
function storable(message: string): string {
  return Buffer.from(message.slice(0, longestMessage)).toString().replaceAll('\0', '\uFFFD');
}
