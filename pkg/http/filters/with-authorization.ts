import { newForbidden, StatusError } from '#pkg/apimachinery/index';
import type { Authorizer } from '#pkg/identity/index';
import type { Filter, RequestContext } from '../request-context.ts';
import type { OpenPaths } from './with-authentication.ts';

/** 403 unless the user may do what the request asks, or the path is open. */
export function withAuthorization(authorizer: Authorizer, { isOpen = () => false }: OpenPaths = {}): Filter {
  return (next) => async (context) => {
    const { info, user } = context;
    if (!isOpen(info)) {
      const { verb, group, version, resource, subresource, namespace, name, isResourceRequest, path } = info;
      const decision = await authorizer.authorize({ user, verb, group, version, resource, subresource, namespace, name, isResourceRequest, path });
      if (!decision.allowed) throw newForbiddenRequest(context, decision.reason);
    }
    await next(context);
  };
}

/** In Kubernetes' words. Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters. */
function newForbiddenRequest({ info, user }: RequestContext, reason: string): StatusError {
  const who = `User ${JSON.stringify(user.name)} cannot ${info.verb}`;
  const why = reason === '' ? '' : `: ${reason}`;
  if (!info.isResourceRequest) return new StatusError(403, 'Forbidden', `forbidden: ${who} path ${JSON.stringify(info.path.slice(0, 1024))}${why}`, { details: {} });
  const what = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
  const where = info.namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(info.namespace)}`;
  return newForbidden(info, info.name, `${who} resource ${JSON.stringify(what)} in API group ${JSON.stringify(info.group)} ${where}${why}`);
}
