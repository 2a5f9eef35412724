import { StatusError } from '#pkg/apimachinery/index';
import type { Filter, RequestContext } from '../request/request-context.ts';
import { isCrossSite, type SameSiteOptions } from '../request/same-site.ts';

/**
 * Answers 403 to a page of another site that opens a WebSocket: browsers send it with the visitor's session, and CORS
 * does not apply to its answer. A client that sets the Authorization header is no page; but browsers send Basic on
 * their own. Source: RFC 6455, 10.2.
 */
export function withWebSocketOrigin(options: SameSiteOptions): Filter {
  return (next) => async (context) => {
    if (context.webSocket !== undefined && !isOfClient(context) && isCrossSite(context.request, options))
      throw new StatusError(
        403,
        'Forbidden',
        'forbidden: a page may open a WebSocket only if its Origin is of this host, or one of the allowed origins',
        { details: {} },
      );
    return next(context);
  };
}

function isOfClient({ webSocket, request: { headers } }: RequestContext): boolean {
  return webSocket?.hasTokenProtocol === false && /^(?!basic\s)\S+\s/i.test(headers.authorization ?? '');
}
