import type { Filter } from '../request/request-context.ts';

/** Sends the request id in our header and in Kubernetes', and forbids caching of answers unless a handler allows it. */
export function withRequestId(): Filter {
  return (next) => (context) => {
    const { id, response } = context;
    response.setHeader('X-Request-Id', id);
    response.setHeader('Audit-Id', id);
    response.setHeader('Cache-Control', 'no-cache, private');
    return next(context);
  };
}
