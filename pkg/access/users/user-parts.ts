import type { AccessDatabase, Queryable } from '../access-database.ts';
import type { Audit } from '../audit/audit.ts';
import type { Organizations } from '../orgs/organizations.ts';
import type { PasswordHasher } from '../passwords/password-hasher.ts';
import type { Users } from './users.ts';

/** What the operations on users work with. */
export interface UserParts {
  database: AccessDatabase;
  audit: Audit;
  users: Users;
  organizations: Organizations;
  hasher: Pick<PasswordHasher, 'hash'>;
  sessions: SessionEnder;
  bearerTokens: TokenRevoker;
  login: PasswordConfirmer;
}

export interface SessionEnder {
  endAll(userId: string, options: { except?: string }, on?: Queryable): Promise<void>;
}

export interface TokenRevoker {
  revokeAll(userId: string, on?: Queryable): Promise<void>;
}

export interface PasswordConfirmer {
  /** Is it the password of this user, who is in already? A wrong one counts as a failed login does; throws what a login would where there were too many. */
  confirmPassword(attempt: { username: string; password: string; address: string }): Promise<boolean>;
}
