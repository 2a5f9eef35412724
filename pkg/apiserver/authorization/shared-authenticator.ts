import type { IncomingMessage } from 'node:http';
import type { RequestAuthenticator, UserInfo } from '#pkg/identity/index';

/**
 * Shares one authentication among requests with the same credential within `maxAgeMs`. Use it only to recheck requests
 * that were already admitted; new requests are authenticated each time.
 */
export class SharedAuthenticator implements RequestAuthenticator {
  readonly #authenticator: RequestAuthenticator;
  readonly #maxAgeMs: number;
  /** Keyed by the headers of credentials; oldest first. */
  readonly #answers = new Map<string, { askedAt: number; user: Promise<UserInfo | undefined> }>();

  constructor(authenticator: RequestAuthenticator, { maxAgeMs = 1000 }: { maxAgeMs?: number } = {}) {
    this.#authenticator = authenticator;
    this.#maxAgeMs = maxAgeMs;
  }

  authenticateRequest(request: IncomingMessage): Promise<UserInfo | undefined> {
    const { authorization = '', cookie = '' } = request.headers;
    const key = JSON.stringify([authorization, cookie]);
    const askedAt = performance.now();
    for (const [old, answer] of this.#answers) {
      if (askedAt - answer.askedAt < this.#maxAgeMs) break;
      this.#answers.delete(old);
    }
    const known = this.#answers.get(key);
    if (known !== undefined) return known.user;
    const user = this.#authenticator.authenticateRequest(request);
    this.#answers.set(key, { askedAt, user });
    return user;
  }
}
