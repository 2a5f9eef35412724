import { newForbidden, StatusError } from '#pkg/apimachinery/index';
import type { Attributes } from '#pkg/identity/index';

/**
 * 403 with the message of Kubernetes, for a request that the Authorizer denies. Source:
 * k8s.io/apiserver/pkg/endpoints/handlers/responsewriters.
 */
export function newForbiddenRequest(
  { user, verb, group, resource, subresource, namespace, name, isResourceRequest, path }: Attributes,
  reason: string,
): StatusError {
  const who = `User ${JSON.stringify(user.name)} cannot ${verb}`;
  const why = reason === '' ? '' : `: ${reason}`;
  if (!isResourceRequest)
    return new StatusError(403, 'Forbidden', `forbidden: ${who} path ${JSON.stringify(path.slice(0, 1024))}${why}`, {
      details: {},
    });
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  return newForbidden(
    { group, resource },
    name,
    `${who} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}${why}`,
  );
}
