import { newPreconditionFailed, type ObjectKey } from '#pkg/apimachinery/index';
import { parseEntityTags } from '#pkg/http/index';
import type { Preconditions, ServedResource } from '../../rest/served-resource.ts';

/**
 * What If-Match demands of the stored object. Compared strongly: a weak tag matches nothing. `*` demands only that
 * there is an object, which every write but create does anyway. Of several tags the one that holds now is demanded.
 * @throws StatusError 412 where none holds, 404 where that has to be looked up and there is no object.
 */
export async function readIfMatch(
  header: string | undefined,
  { storage, resource }: ServedResource,
  key: ObjectKey,
): Promise<Preconditions> {
  const tags = parseEntityTags(header, 'If-Match');
  if (tags === undefined || tags.any) return {};
  const [only, ...others] = tags.strong;
  if (only !== undefined && others.length === 0) return { ifMatch: only };
  const current = String((await storage.get(key)).revision);
  if (!tags.strong.includes(current))
    throw newPreconditionFailed(resource, key.name, 'the object has none of the versions in If-Match');
  return { ifMatch: current };
}
