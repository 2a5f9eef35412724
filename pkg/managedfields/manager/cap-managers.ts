import { compareIndexValues } from '#pkg/apimachinery/index';
import { unionSets } from '../fieldpath/field-set.ts';
import { type Managers, managerKey } from '../merge/managers.ts';
import { managerIdentity } from './manager-identity.ts';
import { compareTimes } from './managed-fields-list.ts';

const maxUpdateManagers = 10;
const ancientChanges = 'ancient-changes';

/**
 * Unites the oldest entries of updates that have one version, so that at most ten entries of updates are left. The
 * first one of a version keeps its name until a second one joins it. Changes `managers`.
 */
export function capManagers(managers: Managers): void {
  let count = 0;
  for (const { isApplied } of managers.values()) if (!isApplied) count += 1;
  if (count <= maxUpdateManagers) return;
  const updaters = [...managers.entries()]
    .filter(([, { isApplied }]) => !isApplied)
    .toSorted(
      ([, a], [, b]) => compareTimes(a.time, b.time) || compareIndexValues(managerIdentity(a), managerIdentity(b)),
    );
  const firstOfVersion = new Map<string, string>();
  for (const [key, manager] of updaters) {
    if (count <= maxUpdateManagers) return;
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
    const joined = managers.get(hasBucket ? bucketKey : firstKey)!;
    if (!hasBucket) managers.delete(firstKey);
    managers.delete(key);
    // The time of the later one.
    managers.set(bucketKey, { ...bucketId, time, set: unionSets(manager.set, joined.set) });
    count -= 1;
  }
}
