import type { EndpointCall, EndpointResult } from './endpoint-call.ts';

/** Forwards calls to the host of a plugin in another process. */
export interface Forwarder {
  /**
   * `url` is the host's address. @throws StatusError: the host's, or 503 if the host cannot be reached; the signal's
   * reason
   */
  forward(url: string, call: EndpointCall, signal: AbortSignal): Promise<EndpointResult>;
}
