import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { runQuery, type Queryable } from '#pkg/database/index';
import { lockUntilCommit, type AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';
import type { Audit } from '../audit/audit.ts';
import { defaultOrgId } from '../orgs/organization.ts';
import type { PasswordHasher } from '../login/password-hasher.ts';
import { ensureAdminToken, type AdminUser } from './ensure-admin-token.ts';
import { choosePassword } from './initial-password.ts';

/** Name of the first administrator. */
export const adminUsername = 'admin';
/** Key of the advisory lock; the previous release holds the same one while it adds its token. */
const lockName = 'svc access.personal_tokens';

export interface EnsureAdministratorOptions {
  database: AccessDatabase;
  hasher: Pick<PasswordHasher, 'hash'>;
  audit: Audit;
  /** Folder of `initial-admin-password` and `admin-token`, which only this user of the machine can read. */
  dataDir: string;
  /** Given by the operator; used only when the first password is set. */
  initialPassword?: string | undefined;
  /** Given by the operator; added if the administrator does not have it. */
  initialToken?: string | undefined;
  log: Logger;
}

/**
 * Creates the first administrator: the user `admin`, with a password and a personal token, in a database without
 * administrators; in a database of the previous release, where `admin` has no password, sets one. Both secrets are in
 * the data folder of the process that created them. Afterwards `admin` is an ordinary user: it stays disabled or
 * deleted, and a changed password is not reset, whatever the options.
 *
 * Each start ensures that the given token exists and that the file holds a token: the given one, or a new one. A token
 * in the file is not replaced, and a revoked one stays revoked; while `admin` is not an administrator, none is created.
 *
 * Any number of processes may run this at the same time on one database. The next start completes the work of a process
 * that was killed. Throws InitialPasswordError if the given password breaks the rules.
 */
export async function ensureAdministrator(
  options: EnsureAdministratorOptions,
): Promise<{ tokenFile: string; passwordFile: string }> {
  const { database, dataDir, initialToken, audit, log } = options;
  const files = { tokenFile: join(dataDir, 'admin-token'), passwordFile: join(dataDir, 'initial-admin-password') };
  await database.transaction(async (client) => {
    await lockUntilCommit(client, lockName);
    await adoptTokens(client);
    const state = await readState(client);
    if (!state.hasAdministrator && state.admin === undefined) state.admin = await createAdmin(client, options);
    const { admin } = state;
    if (admin?.isAdministrator !== true) return;
    if (admin.needsPassword) await setPassword(client, { ...options, file: files.passwordFile, admin });
    await ensureAdminToken({ client, audit, log, admin, file: files.tokenFile, initial: initialToken });
  });
  return files;
}

interface AdminState extends AdminUser {
  isAdministrator: boolean;
  /** Created by the migration or just now, and never had a password. */
  needsPassword: boolean;
}

async function readState(client: Queryable): Promise<{ hasAdministrator: boolean; admin?: AdminState }> {
  const administrators = accessQuery
    .selectFrom('access.system_role_bindings')
    .select('user_id')
    .where('role', '=', 'SystemAdmin');
  const { rows: bound } = await runQuery(client, administrators);
  const user = accessQuery
    .selectFrom('access.users')
    .select(['id', 'username'])
    .select(sql<boolean>`password_hash IS NULL AND password_changed IS NULL AND created_by = ''`.as('needsPassword'))
    .where('username_key', '=', adminUsername);
  const [admin] = (await runQuery(client, user)).rows;
  const hasAdministrator = bound.length > 0;
  if (admin === undefined) return { hasAdministrator };
  return { hasAdministrator, admin: { ...admin, isAdministrator: bound.some(({ user_id: id }) => id === admin.id) } };
}

/** Leaves `created_by` empty, as the migration does: a user with a creator gets their password from the creator. */
async function createAdmin(client: Queryable, { audit }: EnsureAdministratorOptions): Promise<AdminState> {
  const id = randomUUID();
  const user = {
    id,
    username: adminUsername,
    username_key: adminUsername,
    name: 'Administrator',
    search_text: `${adminUsername}\nadministrator\n`,
  };
  await runQuery(client, accessQuery.insertInto('access.users').values(user));
  const systemRoles = ['SystemAdmin', 'SystemUser'].map((role) => ({ user_id: id, role }));
  await runQuery(client, accessQuery.insertInto('access.system_role_bindings').values(systemRoles));
  const orgRoles = ['OrgAdmin', 'OrgUser'].map((role) => ({ user_id: id, org_id: defaultOrgId, role }));
  await runQuery(client, accessQuery.insertInto('access.org_role_bindings').values(orgRoles));
  await audit.recordOperation(
    {
      actor: undefined,
      action: 'create',
      resourceType: 'user',
      resource: adminUsername,
      detail: 'the first administrator',
    },
    client,
  );
  return { id, username: adminUsername, isAdministrator: true, needsPassword: true };
}

/** Writes the file before the commit: otherwise a crash could leave a password that nobody knows. */
async function setPassword(
  client: Queryable,
  { hasher, audit, log, initialPassword, file, admin }: EnsureAdministratorOptions & { file: string; admin: AdminUser },
): Promise<void> {
  const password = await choosePassword({ file, initial: initialPassword, username: admin.username });
  const update = accessQuery
    .updateTable('access.users')
    .set({ password_hash: await hasher.hash(password), password_changed: currentTime })
    .where('id', '=', admin.id);
  await runQuery(client, update);
  await audit.recordOperation(
    {
      actor: undefined,
      action: 'change_password',
      resourceType: 'user',
      resource: admin.username,
      detail: 'the initial password',
    },
    client,
  );
  log.info({ file }, "wrote the administrator's password");
}

/**
 * Assigns tokens that a replica of the previous release has added by username since the upgrade to the user of that
 * name. Renames a user's tokens of the same name, as the API finds them by name: that release gave all tokens one name.
 */
export async function adoptTokens(client: Queryable): Promise<void> {
  const adopt = accessQuery
    .updateTable('access.personal_tokens as t')
    .from('access.users as u')
    .set((eb) => ({ user_id: eb.ref('u.id') }))
    .where('t.user_id', 'is', null)
    .where('u.username_key', '=', sql<string>`lower(t.username)`)
    .whereRef('u.username', '=', 't.username')
    .whereRef('u.date_joined', '<=', 't.created');
  await runQuery(client, adopt);
  const rename = accessQuery
    .updateTable('access.personal_tokens as t')
    .set({ name: sql<string>`t.name || '-' || left(t.id::text, 8)` })
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('access.personal_tokens as o')
          .select('o.id')
          .whereRef('o.user_id', '=', 't.user_id')
          .whereRef('o.name', '=', 't.name')
          .where(sql<boolean>`(o.created, o.id) < (t.created, t.id)`),
      ),
    );
  await runQuery(client, rename);
}
