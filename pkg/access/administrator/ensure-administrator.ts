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
import { ensureAdminToken, type AdminUser } from './admin-token.ts';
import { choosePassword } from './initial-password.ts';

/** Name of the first administrator. */
export const adminUsername = 'admin';
/** Key of the advisory lock; the last release holds the same one while it adds its token. */
const LOCK = 'svc access.personal_tokens';

export interface AdministratorOptions {
  database: AccessDatabase;
  hasher: Pick<PasswordHasher, 'hash'>;
  audit: Audit;
  /** Where `initial-admin-password` and `admin-token` can be read on this machine, by this user only. */
  dataDir: string;
  /** Given by the operator; looked at where the password is set, and never again. */
  initialPassword?: string | undefined;
  /** Given by the operator: added whenever the administrator does not have it yet. */
  initialToken?: string | undefined;
  log: Logger;
}

/**
 * The first way in: the user `admin`, with a password and a personal token, on a database that has no administrator; on
 * one of the last release, where `admin` had no password, that. Both lie in the data folder of the process that made
 * them. From then on `admin` is a user like others: once disabled or deleted it stays so, and a password that was
 * changed is not changed back, whatever the options say.
 *
 * Of the token each start sees to it that the given one is known, and that the file holds one: the given one, or a
 * fresh one. A token that is in the file already is not replaced, and one that was revoked is not revived; while
 * `admin` is no administrator, none is made.
 *
 * Any number of processes may do so at once on one database. What a process leaves behind that was ended in between,
 * the next start takes up. Throws InitialPasswordError for a given password that breaks the rules.
 */
export async function ensureAdministrator(
  options: AdministratorOptions,
): Promise<{ tokenFile: string; passwordFile: string }> {
  const { database, dataDir, initialToken, audit, log } = options;
  const files = { tokenFile: join(dataDir, 'admin-token'), passwordFile: join(dataDir, 'initial-admin-password') };
  await database.transaction(async (client) => {
    await lockUntilCommit(client, LOCK);
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
  /** Made by the migration, or just now, and never had one. */
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

/** By nobody, as the migration does it: whoever is made by somebody gets their password from them. */
async function createAdmin(client: Queryable, { audit }: AdministratorOptions): Promise<AdminState> {
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
  await audit.operate(
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

/** The file before the commit: a password that nobody has read must not be the one that counts. */
async function setPassword(
  client: Queryable,
  { hasher, audit, log, initialPassword, file, admin }: AdministratorOptions & { file: string; admin: AdminUser },
): Promise<void> {
  const password = await choosePassword({ file, initial: initialPassword, username: admin.username });
  const update = accessQuery
    .updateTable('access.users')
    .set({ password_hash: await hasher.hash(password), password_changed: currentTime })
    .where('id', '=', admin.id);
  await runQuery(client, update);
  await audit.operate(
    {
      actor: undefined,
      action: 'change_password',
      resourceType: 'user',
      resource: admin.username,
      detail: 'the initial password',
    },
    client,
  );
  log.info({ file }, "the administrator's password was written");
}

/**
 * Gives tokens that a replica of the last release has added since the upgrade, by a name, to the user of that name; and
 * those of one user names of their own, by which the API knows them: all that were made by a start were called the
 * same.
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
