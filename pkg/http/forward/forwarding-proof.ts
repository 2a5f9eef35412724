import type { ForwardedRequest } from '../connection/forwarded-request.ts';

/** The header in which a server of ours proves to another how a client reached it. Lower case. */
export const forwardedHeader = 'x-svc-forwarded';

/** What a proof is for: it holds for no other request. */
export interface ProvenRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
}

/** Makes and checks the values of `forwardedHeader`. Clients cannot make one. */
export interface ForwardingProof {
  prove(request: ProvenRequest, forwarded: ForwardedRequest): string;
  /** Undefined for a text that is no proof for this request. */
  check(text: string, request: ProvenRequest): ForwardedRequest | undefined;
}
