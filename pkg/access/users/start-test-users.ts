import { startAccessTest, type AccessTest, type AccessTestParts } from '../accesstest/start-access-test.ts';
import { testCredential } from '../accesstest/test-credential.ts';
import { BearerTokens } from '../tokens/bearer-tokens.ts';
import type { Operation } from '../operations/operation.ts';
import { LoginService } from '../login/login-service.ts';
import { NameClaims } from '../names/name-claims.ts';
import { Organizations } from '../orgs/organizations.ts';
import { PasswordHasher } from '../login/password-hasher.ts';
import { Sessions } from '../sessions/sessions.ts';
import type { BindingSubjectCheck, UserParts } from './user-parts.ts';
import { userOperations } from './user-operations.ts';
import { Users } from './users.ts';

export interface TestUsers {
  server: AccessTest;
  /** Parts of the first replica. */
  parts: UserParts & { sessions: Sessions; bearerTokens: BearerTokens; login: LoginService; hasher: PasswordHasher };
}

/**
 * The operations on users, with real logins and sessions, and cheap hashes. `isNamedByBinding`: default never; `more`:
 * further operations.
 */
export async function startTestUsers({
  isNamedByBinding = () => false,
  more = () => [],
}: {
  isNamedByBinding?: BindingSubjectCheck;
  more?: (parts: UserParts) => readonly Operation[];
} = {}): Promise<TestUsers> {
  const made: TestUsers['parts'][] = [];
  const sessionsOf = new Map<AccessTestParts['access'], Sessions>();
  const server = await startAccessTest({
    credentials: ({ access }) => {
      const sessions = new Sessions({ database: access });
      sessionsOf.set(access, sessions);
      return [testCredential, sessions.credential];
    },
    operations: ({ access: database, audit, log }) => {
      const hasher = new PasswordHasher({ memoryKiB: 64, passes: 1 });
      const parts = {
        database,
        audit,
        hasher,
        users: new Users(database),
        organizations: new Organizations(database),
        isNamedByBinding,
        names: new NameClaims({ database, log }),
        sessions: sessionsOf.get(database)!,
        bearerTokens: new BearerTokens({ database, audit }),
        login: new LoginService({ database, audit, hasher }),
      };
      made.push(parts);
      return [...userOperations(parts), ...more(parts)];
    },
  });
  return { server, parts: made[0]! };
}
