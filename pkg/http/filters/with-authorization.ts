import type { Authorizer } from '#pkg/identity/index';
import type { Filter, RequestContext } from '../request/request-context.ts';
import { newForbiddenRequest } from './forbidden-request.ts';
import type { OpenPaths } from './with-authentication.ts';

/** 403 unless the user has the permission for the request, or the path is open. */
export function withAuthorization(authorizer: Authorizer, { isOpen = () => false }: OpenPaths = {}): Filter {
  return (next) => async (context) => {
    if (!isOpen(context.info)) await authorizeRequest(authorizer, context);
    await next(context);
  };
}

/** 403 unless the user has the permission for the request, or for another verb on what it names. */
export async function authorizeRequest(
  authorizer: Authorizer,
  { info, user }: Pick<RequestContext, 'info' | 'user'>,
  other: { verb?: string } = {},
): Promise<void> {
  const { verb, group, version, resource, subresource, namespace, name, isResourceRequest, path } = info;
  const attributes = {
    user,
    verb,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
    isResourceRequest,
    path,
    ...other,
  };
  const decision = await authorizer.authorize(attributes);
  if (!decision.allowed) throw newForbiddenRequest(attributes, decision.reason);
}
