import type { IncomingMessage } from 'node:http';
import { newUnauthorized } from '#pkg/apimachinery/index';
import type { RequestAuthenticator, TokenAuthenticator, UserInfo } from '#pkg/identity/index';

const form = /^bearer +([A-Za-z0-9._~+/-]{1,8192}=*)$/i;

/** The token of `Authorization: Bearer <token>`; undefined for any other header. Source: RFC 6750, 2.1. */
export function bearerToken({ headers }: IncomingMessage): string | undefined {
  return headers.authorization === undefined ? undefined : form.exec(headers.authorization)?.[1];
}

/**
 * Reads `Authorization: Bearer <token>`; undefined without an Authorization header. Any other scheme, a malformed value
 * and an unknown token are StatusError 401, so it comes last in a union.
 */
export class BearerAuthenticator implements RequestAuthenticator {
  readonly #tokens: TokenAuthenticator;

  constructor(tokens: TokenAuthenticator) {
    this.#tokens = tokens;
  }

  async authenticateRequest(request: IncomingMessage): Promise<UserInfo | undefined> {
    if (request.headers.authorization === undefined) return undefined;
    const token = bearerToken(request);
    const user = token === undefined ? undefined : await this.#tokens.authenticateToken(token);
    if (user === undefined) throw newUnauthorized();
    return user;
  }
}
