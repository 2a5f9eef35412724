import type { ApiClient, ApiObject, Json } from '../api-client.ts';

/** These objects change by themselves: leases are renewed, events report the start. */
const restless = /^(?:coordination\.k8s\.io\/.*\/leases|.*\/?events)$/;

/** All objects in the API, by type and name. */
export async function everything(api: ApiClient): Promise<Map<string, ApiObject>> {
  const objects = new Map<string, ApiObject>();
  for (const { type, path } of await collections(api)) {
    if (restless.test(type)) continue;
    for (const item of ((await api.get(path))['items'] as ApiObject[] | undefined) ?? []) {
      objects.set(`${type} ${item.metadata.namespace ?? ''}/${item.metadata.name}`, item);
    }
  }
  return objects;
}

async function collections(api: ApiClient): Promise<{ type: string; path: string }[]> {
  const groups = (await api.get('/apis'))['groups'] as { name: string; versions: { groupVersion: string }[] }[];
  const versions = ['v1', ...groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion))];
  const found: { type: string; path: string }[] = [];
  for (const version of versions) {
    const root = version === 'v1' ? '/api/v1' : `/apis/${version}`;
    const resources = (await api.get(root))['resources'] as { name: string; verbs: string[] }[];
    for (const { name, verbs } of resources)
      if (verbs.includes('list') && !name.includes('/'))
        found.push({ type: `${version}/${name}`, path: `${root}/${name}` });
  }
  return found;
}

/**
 * Differences: missing, replaced or changed objects; for those that `mayChange`, only changes of the author's fields.
 * New objects are ignored.
 */
export function differences(
  before: ReadonlyMap<string, ApiObject>,
  after: ReadonlyMap<string, ApiObject>,
  mayChange: (key: string) => boolean,
): string[] {
  return [...before].flatMap(([key, object]) => {
    const now = after.get(key);
    if (now === undefined) return [`${key} is gone`];
    if (now.metadata.uid !== object.metadata.uid) return [`${key} is another object`];
    const part = ({ spec, ...rest }: ApiObject): unknown => (mayChange(key) ? spec : { spec, ...rest });
    if (canonical(part(now)) === canonical(part(object))) return [];
    return [`${key} was changed: ${canonical(object).slice(0, 1500)} is now ${canonical(now).slice(0, 1500)}`];
  });
}

/** JSON with sorted keys. */
function canonical(value: unknown = null): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part as Json).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
