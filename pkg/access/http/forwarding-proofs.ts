import { timingSafeEqual } from 'node:crypto';
import { newServiceUnavailable } from '#pkg/apimachinery/index';
import type { ForwardedRequest, ForwardingProof, ProvenRequest } from '#pkg/http/index';
import type { SecretBox } from '../secrets/secret-box.ts';
import { SecretKeyError } from '../secrets/secret-error.ts';

const purpose = 'forwarded requests';
/** How far the clocks of two servers may be apart. */
const maxSkewMs = 300_000;

interface Claims extends ForwardedRequest {
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * Proofs by the key that all servers of an installation share and no client has. A proof is the claims and their keyed
 * hash together with method and target, so that it holds for one request, for some minutes.
 */
export class ForwardingProofs implements ForwardingProof {
  readonly #box: SecretBox;
  readonly #now: () => number;

  /** `now`: milliseconds since 1970, default the clock. */
  constructor(box: SecretBox, now: () => number = Date.now) {
    this.#box = box;
    this.#now = now;
  }

  /** @throws StatusError 503 without a key */
  prove(request: ProvenRequest, { clientAddress, origin, publicUrl }: ForwardedRequest): string {
    const claims: Claims = { at: this.#now(), clientAddress, origin, publicUrl };
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    try {
      return `${payload}.${this.#box.sign(textOf(request, payload), purpose).toString('base64url')}`;
    } catch (error) {
      throw error instanceof SecretKeyError ? newServiceUnavailable(error.message) : error;
    }
  }

  check(text: string, request: ProvenRequest): ForwardedRequest | undefined {
    const [payload = '', hash = '', more] = text.split('.', 3);
    const sent = Buffer.from(hash, 'base64url');
    // Other spellings of the same bytes are none: a proof has one.
    const isExact = more === undefined && sent.toString('base64url') === hash;
    if (!isExact || !this.#isSigned(textOf(request, payload), sent)) return undefined;
    const { at, ...forwarded } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Claims;
    return Math.abs(this.#now() - at) <= maxSkewMs ? forwarded : undefined;
  }

  #isSigned(text: string, hash: Buffer): boolean {
    const isOneOf = (hashes: readonly Buffer[]): boolean =>
      hashes.some((each) => each.length === hash.length && timingSafeEqual(each, hash));
    const known = this.#box.lookups(text, purpose);
    return isOneOf(known) || isOneOf(this.#box.newLookups(text, purpose, known));
  }
}

function textOf({ method, target }: ProvenRequest, payload: string): string {
  return `${method} ${target}\n${payload}`;
}
