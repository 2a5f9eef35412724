import type { AccessDatabase } from '../access-database.ts';
import type { Audit } from '../audit/audit.ts';
import type { BearerTokens } from '../tokens/bearer-tokens.ts';
import type { LoginService } from '../login/login-service.ts';
import type { NameClaims } from '../names/name-claims.ts';
import type { Organizations } from '../orgs/organizations.ts';
import type { PasswordHasher } from '../login/password-hasher.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Users } from './users.ts';

/** Dependencies of the operations on users. */
export interface UserParts {
  database: AccessDatabase;
  audit: Audit;
  users: Users;
  organizations: Organizations;
  isNamedByBinding: BindingSubjectCheck;
  names: Pick<NameClaims, 'prepare' | 'claim' | 'adoptAfterRelease'>;
  hasher: Pick<PasswordHasher, 'hash'>;
  sessions: Pick<Sessions, 'endAll'>;
  bearerTokens: Pick<BearerTokens, 'revokeAll'>;
  login: Pick<LoginService, 'confirmPassword'>;
}

/** Does a binding on the content platform name this user, ignoring case? Answers within seconds, or rejects. */
export type BindingSubjectCheck = (username: string) => boolean | Promise<boolean>;
