import type { Filter } from '../request/request-context.ts';

/** Headers that make a browser treat an answer as data only; a handler that serves pages sets its own policy. */
export function withSecurityHeaders(): Filter {
  return (next) => (context) => {
    const { response } = context;
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'");
    return next(context);
  };
}
