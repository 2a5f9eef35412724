import type { IncomingMessage } from 'node:http';

/** How a client reached the server that has given a request to another service of ours. */
export interface ForwardedRequest {
  /** See `TrustedProxies.addressOf`. */
  readonly clientAddress: string;
  /** See `TrustedProxies.originOf`. */
  readonly origin: string;
  /** The public URL of the server that the client called, if the operator has configured one. */
  readonly publicUrl?: string | undefined;
}

const forwardedRequests = new WeakMap<IncomingMessage, ForwardedRequest>();

/**
 * From now on TrustedProxies and ServiceUrl say of this request what `forwarded` says. Only for facts of a server of
 * ours, never for what a client has sent.
 */
export function noteForwarded(request: IncomingMessage, forwarded: ForwardedRequest): void {
  forwardedRequests.set(request, forwarded);
}

/** Undefined for a request that came to this service itself. */
export function forwardedRequestOf(request: IncomingMessage): ForwardedRequest | undefined {
  return forwardedRequests.get(request);
}
