import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AccessKeys } from '../../access-keys/access-keys.ts';
import {
  startAccessTest,
  type AccessTest,
  type AccessTestOptions,
  type AccessTestParts,
} from '../../accesstest/start-access-test.ts';
import { BearerTokens } from '../../tokens/bearer-tokens.ts';
import type { Operation } from '../../operations/operation.ts';
import { LoginService } from '../../login/login-service.ts';
import { PasswordHasher } from '../../login/password-hasher.ts';
import { PersonalTokens } from '../../tokens/personal-tokens.ts';
import { openKeyRing } from '../../secrets/open-key-ring.ts';
import { SecretBox } from '../../secrets/secret-box.ts';
import { Sessions } from '../../sessions/sessions.ts';
import { OwnProfile } from '../../users/own-profile.ts';
import { Users } from '../../users/users.ts';
import { currentSessionOperations } from '../../current-session-operations.ts';
import { pageOperations } from '../page-operations.ts';
import { FormClient } from './form-client.ts';

export const password = 'blue horse 7';

export interface Person {
  id: string;
  username: string;
  /** Logged in. */
  client: FormClient;
}

export interface PageTest extends AccessTest {
  /** Adds a user who can log in, with `password` by default; returns the id. */
  addPerson(person: { username: string; password?: string; name?: string; email?: string | null }): Promise<string>;
  newUser(user?: { name?: string; email?: string | null }): Promise<Person>;
  /** The user's audit entries, such as `create access_key`. */
  auditOf(userId: string): Promise<string[]>;
}

/** Roles on the content platform; every user has the first two. */
const roles = {
  rolesOf: () => ['view', 'edit', 'system:basic-user'],
  hasRole: (_user: unknown, role: string) => role !== 'admin',
};

/** The real parts behind the pages, with cheap password hashes. */
export async function startPageTest(
  options: Pick<AccessTestOptions, 'trustedProxies' | 'publicUrl' | 'allowedOrigins'> = {},
): Promise<PageTest> {
  const folder = mkdtempSync(join(tmpdir(), 'page-test-'));
  const hasher = new PasswordHasher({ memoryKiB: 64, passes: 1, maxRunning: 2 });
  let sessions: Sessions | undefined;
  const operations = async ({ access: database, audit }: AccessTestParts): Promise<Operation[]> => {
    const login = new LoginService({ database, audit, hasher });
    const users = new Users(database);
    const bearerTokens = new BearerTokens({ database, audit });
    const accessKeys = new AccessKeys({
      database,
      audit,
      secrets: new SecretBox(await openKeyRing(database, { dataDir: folder })),
    });
    const personalTokens = new PersonalTokens({ database, audit, roles });
    const pages = pageOperations({
      database,
      audit,
      login,
      sessions: sessions!,
      accessKeys,
      personalTokens,
      allowedOrigins: options.allowedOrigins ?? [],
      profile: new OwnProfile({ database, audit, users, hasher, login, sessions: sessions!, bearerTokens }),
    });
    return [...pages, ...currentSessionOperations({ database, audit, users, login, sessions: sessions! })];
  };
  const server = await startAccessTest({
    ...options,
    credentials: ({ access: database }) => {
      sessions = new Sessions({ database });
      return [sessions.credential];
    },
    operations,
  });
  const addPerson: PageTest['addPerson'] = async ({ password: typed = password, ...user }) =>
    server.addUser({ ...user, passwordHash: await hasher.hash(typed) });
  let count = 0;
  return {
    ...server,
    addPerson,
    newUser: async (user = {}) => {
      count += 1;
      const username = `user${count}`;
      const id = await addPerson({ username, ...user });
      const client = new FormClient(server);
      await client.logIn(username, password);
      return { id, username, client };
    },
    auditOf: async (userId) => {
      const { rows } = await server.access.pool.query<{ entry: string }>(
        "SELECT action || ' ' || resource_type AS entry FROM access.operate_logs WHERE user_id = $1 ORDER BY id",
        [userId],
      );
      return rows.map(({ entry }) => entry);
    },
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true });
    },
  };
}
