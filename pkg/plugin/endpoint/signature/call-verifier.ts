import { newServiceUnavailable, newUnauthorized } from '#pkg/apimachinery/index';
import type { Log } from '#pkg/runtime/index';
import { bodyDigest, isSignedBy, readSignature, type CallClaims } from './call-claims.ts';
import { SeenNonces } from './seen-nonces.ts';
import type { ServerKeys } from './server-keys.ts';

export interface CallVerifierOptions {
  keys: Pick<ServerKeys, 'find'>;
  /** URL of this host, as the status of its plugins gives it. */
  host: string;
  /** Milliseconds since 1970. Default: this machine's clock. */
  now?: () => number;
}

/** Limit of clock skew plus transmission time. */
const maxSkewMs = 30_000;

/** Minimum between two log lines for one reason: anyone can send invalid requests. */
const linePauseMs = 1000;

/**
 * Accepts only requests that an API server of this platform has signed recently, for this host and this target. One per
 * process, because it remembers nonces.
 */
export class CallVerifier {
  readonly #keys: Pick<ServerKeys, 'find'>;
  readonly #host: string;
  readonly #now: () => number;
  readonly #began: number;
  readonly #seen = new SeenNonces({ periodMs: 2 * maxSkewMs });
  /** The time of the last log line for a reason, and how many refusals were not logged since. */
  readonly #refusals = new Map<string, { at: number; suppressed: number }>();

  constructor({ keys, host, now = Date.now }: CallVerifierOptions) {
    this.#keys = keys;
    this.#host = host;
    this.#now = now;
    this.#began = now();
  }

  /**
   * Verifies the signature before the body is read; the caller must then compare the digest (`isBodyOf`).
   * @throws StatusError 401 without details; the log has the reason, once a second for each. 503 if the keys cannot be
   * read now.
   */
  async verify(header: string | undefined, target: string, log: Log): Promise<CallClaims> {
    const read = header === undefined ? undefined : readSignature(header);
    if (read === undefined)
      throw this.#refusal(log, header === undefined ? 'there is no signature' : 'the signature is malformed');
    const { claims } = read;
    const skew = this.#now() - claims.time;
    if (claims.host !== this.#host)
      throw this.#refusal(log, 'the signature is for another host', claims, { host: claims.host.slice(0, 256) });
    if (claims.target !== target) throw this.#refusal(log, 'the signature is for another target', claims);
    if (Math.abs(skew) > maxSkewMs)
      throw this.#refusal(log, 'the time of the signature is too far from this clock', claims, { skewMs: skew });
    // This process does not know the nonces that were used before it started.
    if (claims.time < this.#began)
      throw this.#refusal(log, 'it was signed before this process started', claims, { skewMs: skew });
    const key = await this.#keys.find(claims.key).catch((error: unknown) => {
      log.warn({ err: error }, 'could not read the keys of API servers');
      throw newServiceUnavailable('signatures cannot be verified now');
    });
    if (key === undefined) throw this.#refusal(log, 'no running API server has this key', claims);
    if (!isSignedBy(read, key)) throw this.#refusal(log, 'the signature is not of this key', claims);
    const nonce = this.#seen.add(claims.nonce, this.#now());
    if (nonce === 'seen') throw this.#refusal(log, 'the signature was used before', claims);
    if (nonce === 'full') throw newServiceUnavailable('too many calls, please try again later', 10);
    return claims;
  }

  /** @throws StatusError 401 */
  verifyBody(claims: CallClaims, body: Uint8Array, log: Log): void {
    if (bodyDigest(body) !== claims.digest) throw this.#refusal(log, 'the body is not the signed one', claims);
  }

  #refusal(log: Log, reason: string, claims?: CallClaims, facts: object = {}): Error {
    const now = this.#now();
    const last = this.#refusals.get(reason);
    if (last !== undefined && Math.abs(now - last.at) < linePauseMs) {
      last.suppressed += 1;
      return newUnauthorized();
    }
    this.#refusals.set(reason, { at: now, suppressed: 0 });
    const untold = last === undefined || last.suppressed === 0 ? {} : { untold: last.suppressed };
    log.info(
      { reason, ...(claims === undefined ? {} : { key: claims.key.slice(0, 64) }), ...facts, ...untold },
      'refused a forwarded request',
    );
    return newUnauthorized();
  }
}
