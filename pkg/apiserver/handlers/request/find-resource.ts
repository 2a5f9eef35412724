import { newNotFound, newUnknownPath } from '#pkg/apimachinery/index';
import type { RequestInfo } from '#pkg/http/index';
import { needsNamespace, type ModelRegistry, type ServedResource } from '../../rest/served-resource.ts';

/** The resource that a request names. @throws StatusError 404 for one that is not served */
export async function findResource(
  registry: ModelRegistry,
  { group, version, resource }: Pick<RequestInfo, 'group' | 'version' | 'resource'>,
): Promise<ServedResource> {
  const served = registry.find(group, version, resource) ?? (await registry.findNewest(group, version, resource));
  if (served === undefined) throw newUnknownPath();
  return served;
}

/**
 * Undefined for all namespaces. @throws StatusError 404 for a path of the wrong scope, and for a namespace that must
 * exist and does not.
 */
export async function namespaceOf(
  registry: ModelRegistry,
  { model }: ServedResource,
  info: RequestInfo,
  isCollection: boolean,
): Promise<string | undefined> {
  // RequestInfo also reports namespace x for `/api/v1/namespaces/x`.
  const inPath = info.group === '' && info.resource === 'namespaces' ? '' : info.namespace;
  if (model.scope === 'Cluster') {
    if (inPath !== '') throw newUnknownPath();
    return '';
  }
  if (inPath === '') {
    if (!isCollection) throw newUnknownPath();
    return undefined;
  }
  if (needsNamespace(model, info.verb) && !(await registry.hasNamespace(inPath)))
    throw newNotFound({ group: '', resource: 'namespaces' }, inPath);
  return inPath;
}
