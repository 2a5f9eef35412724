import type { AnyObject, Stored } from '#pkg/apimachinery/index';
import { doNotOverwriteLabel, pluginLabel, type PresetRecord } from '#pkg/apis/index';
import { isDefinitionKind } from './preset-kinds.ts';

/** What is to become of a preset at a start; `record` is what the inventory must say before it is done. */
export type ApplyVerdict =
  | { type: 'create' | 'update' | 'leave'; record: PresetRecord }
  /** It is being deleted. */
  | { type: 'wait' }
  /** It belongs to another plugin. */
  | { type: 'refuse'; owner: string };

export interface ApplyCase {
  plugin: string;
  /** As it is shipped. */
  shipped: AnyObject;
  /** What the inventory says of it. */
  record: PresetRecord | undefined;
  stored: Stored<AnyObject> | undefined;
}

/**
 * The rules of a start. An object is the plugin's if it carries the plugin's label and stands in the inventory; any
 * other that carries no other plugin's label is a person's. Of a definition the label alone decides, as it does for
 * models in code: it outlives a stop.
 */
export function judgeApply({ plugin, shipped, record, stored }: ApplyCase): ApplyVerdict {
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

/** What is to become of an object that the plugin shipped, once the plugin stops or ships it no more. */
export type RemovalVerdict =
  /** It stays, and is none of the plugin's. */
  | 'forget'
  /** A person's: it stays, without the label. */
  | 'release'
  /** A definition: it stays with its objects, and is served no more. */
  | 'withdraw'
  | 'delete'
  /** It is being deleted. */
  | 'wait';

export interface RemovalCase {
  plugin: string;
  record: PresetRecord;
  stored: Stored<AnyObject> | undefined;
}

export function judgeRemoval({ plugin, record, stored }: RemovalCase): RemovalVerdict {
  if (stored === undefined || ownerOf(stored) !== plugin) return 'forget';
  if (record.kept === true || hasKeepLabel(stored)) return 'forget';
  if (record.adopted === true) return 'release';
  const isGoing = stored.metadata.deletionTimestamp !== undefined;
  if (isDefinitionKind(record)) return isGoing ? 'forget' : 'withdraw';
  return isGoing ? 'wait' : 'delete';
}

/** The plugin whose label an object carries. */
function ownerOf({ metadata }: AnyObject): string | undefined {
  const owner = metadata.labels?.[pluginLabel];
  return owner === '' ? undefined : owner;
}

function hasKeepLabel({ metadata }: AnyObject): boolean {
  return metadata.labels?.[doNotOverwriteLabel] === 'true';
}
