import { compareIndexValues, type SlicedWork } from '#pkg/apimachinery/index';
import { type FieldSet, unitingAll } from '../fieldpath/field-set.ts';
import { type Managers, managerKey } from '../merge/managers.ts';
import { managerIdentity } from './manager-identity.ts';
import { compareTimes } from './managed-fields-list.ts';

const maxUpdateManagers = 10;
const ancientChanges = 'ancient-changes';

/**
 * Unites the oldest entries of updates that have one version, so that at most ten entries of updates are left. The
 * first one of a version keeps its name until a second one joins it. Changes `managers`.
 */
export function* cappingManagers(managers: Managers): SlicedWork<void> {
  let count = 0;
  for (const { isApplied } of managers.values()) if (!isApplied) count += 1;
  if (count <= maxUpdateManagers) return;
  const updaters = [...managers.entries()]
    .filter(([, { isApplied }]) => !isApplied)
    .toSorted(
      ([, a], [, b]) => compareTimes(a.time, b.time) || compareIndexValues(managerIdentity(a), managerIdentity(b)),
    );
  const firstOfVersion = new Map<string, string>();
  const setsOfBucket = new Map<string, FieldSet[]>();
  for (const [key, manager] of updaters) {
    if (count <= maxUpdateManagers) break;
    const { apiVersion, time } = manager;
    const bucketId = { name: ancientChanges, isApplied: false, apiVersion, subresource: '' };
    const bucketKey = managerKey(bucketId);
    const firstKey = firstOfVersion.get(apiVersion);
    if (firstKey === undefined) {
      firstOfVersion.set(apiVersion, key);
      continue;
    }
    // The united ones may be the later ones themselves.
    const hasBucket = key !== bucketKey && managers.has(bucketKey);
    const joined = hasBucket ? bucketKey : firstKey;
    const sets = setsOfBucket.get(joined) ?? [managers.get(joined)!.set];
    sets.push(manager.set);
    setsOfBucket.set(bucketKey, sets);
    if (!hasBucket) managers.delete(firstKey);
    managers.delete(key);
    // The time of the later one.
    managers.set(bucketKey, { ...bucketId, time, set: manager.set });
    count -= 1;
  }
  for (const [key, sets] of setsOfBucket) managers.set(key, { ...managers.get(key)!, set: yield* unitingAll(sets) });
}
