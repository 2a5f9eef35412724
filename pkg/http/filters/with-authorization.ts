import type { Authorizer } from '#pkg/identity/index';
import type { Filter } from '../request/request-context.ts';
import { newForbiddenRequest } from './forbidden-request.ts';
import type { OpenPaths } from './with-authentication.ts';

/** 403 unless the user has the permission for the request, or the path is open. */
export function withAuthorization(authorizer: Authorizer, { isOpen = () => false }: OpenPaths = {}): Filter {
  return (next) => async (context) => {
    const { info, user } = context;
    if (!isOpen(info)) {
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
      };
      const decision = await authorizer.authorize(attributes);
      if (!decision.allowed) throw newForbiddenRequest(attributes, decision.reason);
    }
    await next(context);
  };
}
