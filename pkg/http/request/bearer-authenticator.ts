import type { IncomingMessage } from 'node:http';
import { newUnauthorized } from '#pkg/apimachinery/index';
import type { RequestAuthenticator, TokenAuthenticator, UserInfo } from '#pkg/identity/index';

const form = /^bearer +([A-Za-z0-9._~+/-]{1,8192}=*)$/i;

/**
 * Reads `Authorization: Bearer <token>`; undefined without an Authorization header. Any other scheme, a malformed value
 * and an unknown token are StatusError 401, so it comes last in a union. Source: RFC 6750, 2.1.
 */
export class BearerAuthenticator implements RequestAuthenticator {
  readonly #tokens: TokenAuthenticator;

  constructor(tokens: TokenAuthenticator) {
    this.#tokens = tokens;
  }

  async authenticateRequest(request: IncomingMessage): Promise<UserInfo | undefined> {
    const header = request.headers.authorization;
    if (header === undefined) return undefined;
    const token = form.exec(header)?.[1];
    const user = token === undefined ? undefined : await this.#tokens.authenticateToken(token);
    if (user === undefined) throw newUnauthorized();
    return user;
  }
}
