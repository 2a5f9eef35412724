import { newBadRequest } from '#pkg/apimachinery/index';
import { noteForwarded } from '../connection/forwarded-request.ts';
import { forwardedHeader, type ForwardingProof } from '../forward/forwarding-proof.ts';
import type { Filter } from '../request/request-context.ts';

/**
 * Believes what another server of ours says about the client of a request. Put it before everything that asks for the
 * client's address or origin. Throws StatusError 400 for a header that no such server has made.
 */
export function withForwardedRequest(proof: Pick<ForwardingProof, 'check'>): Filter {
  return (next) => async (context) => {
    const { request } = context;
    const text = request.headers[forwardedHeader];
    if (text === undefined) return next(context);
    const forwarded =
      typeof text === 'string'
        ? proof.check(text, { method: request.method ?? '', target: request.url ?? '' })
        : undefined;
    if (forwarded === undefined)
      throw newBadRequest(
        'X-SVC-Forwarded is not valid: only a server with the key of this service can send it, with a clock that differs by less than 5 minutes',
      );
    noteForwarded(request, forwarded);
    return next(context);
  };
}
