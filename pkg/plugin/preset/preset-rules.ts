import type { AnyObject, Stored } from '#pkg/apimachinery/index';
import { doNotOverwriteLabel, pluginLabel, type PresetRecord } from '#pkg/apis/index';
import { isDefinitionKind } from './preset-kinds.ts';

/** What a start does with a preset; the inventory must have `record` first. */
export type ApplyDecision =
  | { type: 'create' | 'update' | 'leave'; record: PresetRecord }
  /** It is being deleted. */
  | { type: 'wait' }
  /** It belongs to another plugin. */
  | { type: 'refuse'; owner: string };

export interface ApplyCase {
  plugin: string;
  /** The object as shipped. */
  shipped: AnyObject;
  /** Its record in the inventory. */
  record: PresetRecord | undefined;
  stored: Stored<AnyObject> | undefined;
}

/**
 * The rules of a start. An object belongs to the plugin if it has the plugin's label and is in the inventory; it
 * belongs to a user if it has no other plugin's label. For a definition the label alone decides, as for models in code,
 * because it survives a stop.
 */
export function decideApply({ plugin, shipped, record, stored }: ApplyCase): ApplyDecision {
  const isKept = hasKeepLabel(shipped);
  const {
    apiVersion,
    kind,
    metadata: { name, namespace },
  } = shipped;
  const fresh: PresetRecord = {
    apiVersion,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    ...(isKept ? { kept: true } : {}),
  };
  if (stored === undefined) return { type: 'create', record: fresh };
  const owner = ownerOf(stored);
  if (owner !== undefined && owner !== plugin) return { type: 'refuse', owner };
  if (stored.metadata.deletionTimestamp !== undefined) return { type: 'wait' };
  const isKnown = record !== undefined || isDefinitionKind(shipped);
  const isOurs = owner === plugin && isKnown && record?.adopted !== true;
  const type = isKept || hasKeepLabel(stored) ? 'leave' : 'update';
  return { type, record: isOurs ? fresh : { ...fresh, adopted: true } };
}

/** What happens to a shipped object once the plugin stops or no longer ships it. */
export type RemovalDecision =
  /** It stays and no longer belongs to the plugin. */
  | 'forget'
  /** It belongs to a user and stays, without the label. */
  | 'release'
  /** A definition: it stays with its objects and is no longer served. */
  | 'withdraw'
  | 'delete'
  /** It is being deleted. */
  | 'wait';

export interface RemovalCase {
  plugin: string;
  record: PresetRecord;
  stored: Stored<AnyObject> | undefined;
}

export function decideRemoval({ plugin, record, stored }: RemovalCase): RemovalDecision {
  if (stored === undefined || ownerOf(stored) !== plugin) return 'forget';
  if (record.kept === true || hasKeepLabel(stored)) return 'forget';
  if (record.adopted === true) return 'release';
  const isGoing = stored.metadata.deletionTimestamp !== undefined;
  if (isDefinitionKind(record)) return isGoing ? 'forget' : 'withdraw';
  return isGoing ? 'wait' : 'delete';
}

/** The plugin in an object's label. */
function ownerOf({ metadata }: AnyObject): string | undefined {
  const owner = metadata.labels?.[pluginLabel];
  return owner === '' ? undefined : owner;
}

function hasKeepLabel({ metadata }: AnyObject): boolean {
  return metadata.labels?.[doNotOverwriteLabel] === 'true';
}
