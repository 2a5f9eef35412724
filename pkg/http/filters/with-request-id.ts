import type { Filter } from '../request/request-context.ts';

/**
 * Names the request in its answer, by our header and Kubernetes', and keeps answers out of caches unless a handler says
 * otherwise.
 */
export function withRequestId(): Filter {
  return (next) => (context) => {
    const { id, response } = context;
    response.setHeader('X-Request-Id', id);
    response.setHeader('Audit-Id', id);
    response.setHeader('Cache-Control', 'no-cache, private');
    return next(context);
  };
}
