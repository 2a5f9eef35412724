import type { IncomingMessage } from 'node:http';
import type { UserInfo } from './user-info.ts';

/** Tells whose token this is; undefined: not one of mine, or no longer valid. */
export interface TokenAuthenticator {
  authenticateToken(token: string): Promise<UserInfo | undefined>;
}

/**
 * Tells who sent a request; undefined: it carries no credential of my kind. A credential that is wrong is a StatusError
 * 401.
 */
export interface RequestAuthenticator {
  authenticateRequest(request: IncomingMessage): Promise<UserInfo | undefined>;
}
