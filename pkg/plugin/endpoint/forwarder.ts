import type { EndpointCall, EndpointResult } from './endpoint-call.ts';

/** The way to the host of a plugin in another process. */
export interface Forwarder {
  /**
   * `url` is where the host listens. @throws StatusError: the host's, or 503 where it cannot be asked; the signal's
   * reason
   */
  forward(url: string, call: EndpointCall, signal: AbortSignal): Promise<EndpointResult>;
}
