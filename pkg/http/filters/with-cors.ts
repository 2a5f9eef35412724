import type { Filter, RequestContext } from '../request/request-context.ts';
import { send } from '../answer/respond.ts';

const allowedMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const allowedHeaders =
  'Authorization, Content-Type, Accept, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, X-CSRFToken, X-Request-Id, X-SVC-Fence, X-SVC-ORG, X-SVC-Session';
const exposedHeaders = 'Allow, ETag, Idempotent-Replayed, Location, Retry-After, Warning, X-Request-Id';
const preflightMaxAgeSeconds = '600';

/**
 * Lets pages of the listed origins, and no others, read answers, with credentials. Default: none. Write an origin as
 * browsers send it (`https://app.example.com`). Throws for anything else, also for a wildcard: it would let every page
 * act as its visitor.
 */
export function withCors({ allowedOrigins = [] }: { allowedOrigins?: readonly string[] } = {}): Filter {
  const allowed = new Set(allowedOrigins.map(checkOrigin));
  if (allowed.size === 0) return (next) => next;
  return (next) => async (context) => {
    const { request, response } = context;
    response.appendHeader('Vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !allowed.has(origin)) return next(context);
    response.setHeader('Access-Control-Allow-Origin', origin);
    response.setHeader('Access-Control-Allow-Credentials', 'true');
    if (isPreflight(context)) {
      return send(context, 204, '', '', {
        'Access-Control-Allow-Methods': allowedMethods,
        'Access-Control-Allow-Headers': allowedHeaders,
        'Access-Control-Max-Age': preflightMaxAgeSeconds,
      });
    }
    response.setHeader('Access-Control-Expose-Headers', exposedHeaders);
    return next(context);
  };
}

function isPreflight({ request }: RequestContext): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
}

function checkOrigin(origin: string): string {
  if (!URL.canParse(origin) || new URL(origin).origin !== origin)
    throw new Error(`not an origin: ${JSON.stringify(origin)}`);
  return origin;
}
