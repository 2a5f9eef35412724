import type { IncomingMessage } from 'node:http';
import type { UserInfo } from './user-info.ts';

/** Returns the user of a token; undefined if the token is unknown or no longer valid. */
export interface TokenAuthenticator {
  authenticateToken(token: string): Promise<UserInfo | undefined>;
}

/**
 * Returns the user of a request; undefined if it has no credential of this kind. Throws StatusError 401 for a wrong
 * credential.
 */
export interface RequestAuthenticator {
  authenticateRequest(request: IncomingMessage): Promise<UserInfo | undefined>;
}
