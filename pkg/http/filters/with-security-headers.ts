import type { Filter } from '../request/request-context.ts';

/**
 * Headers that keep a browser from making more of an answer than data; a handler that serves pages replaces the policy
 * by its own.
 */
export function withSecurityHeaders(): Filter {
  return (next) => (context) => {
    const { response } = context;
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'");
    return next(context);
  };
}
