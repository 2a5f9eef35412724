import { join } from 'node:path';
import type { Logger } from 'pino';
import type { AccessDatabase, Queryable } from '../access-database.ts';
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
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [LOCK]);
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
  const { rows } = await client.query<AdminState & { hasAdministrator: boolean }>(
    `SELECT has.administrator AS "hasAdministrator", u.id, u.username,
      EXISTS (SELECT 1 FROM access.system_role_bindings s WHERE s.user_id = u.id AND s.role = 'SystemAdmin') AS "isAdministrator",
      u.password_hash IS NULL AND u.password_changed IS NULL AND u.created_by = '' AS "needsPassword"
    FROM (SELECT EXISTS (SELECT 1 FROM access.system_role_bindings WHERE role = 'SystemAdmin')) has (administrator)
    LEFT JOIN access.users u ON u.username_key = $1`,
    [adminUsername],
  );
  const { hasAdministrator, ...admin } = rows[0]!;
  return admin.id === null ? { hasAdministrator } : { hasAdministrator, admin };
}

/** By nobody, as the migration does it: whoever is made by somebody gets their password from them. */
async function createAdmin(client: Queryable, { audit }: AdministratorOptions): Promise<AdminState> {
  const { rows } = await client.query<{ id: string }>(
    `WITH made AS (
        INSERT INTO access.users (username, username_key, name, search_text) VALUES ($1, $1, 'Administrator', $2) RETURNING id),
      system AS (INSERT INTO access.system_role_bindings (user_id, role) SELECT id, unnest(ARRAY['SystemAdmin', 'SystemUser']) FROM made),
      org AS (INSERT INTO access.org_role_bindings (user_id, org_id, role) SELECT id, $3::uuid, unnest(ARRAY['OrgAdmin', 'OrgUser']) FROM made)
    SELECT id FROM made`,
    [adminUsername, `${adminUsername}\nadministrator\n`, defaultOrgId],
  );
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
  return { id: rows[0]!.id, username: adminUsername, isAdministrator: true, needsPassword: true };
}

/** The file before the commit: a password that nobody has read must not be the one that counts. */
async function setPassword(
  client: Queryable,
  { hasher, audit, log, initialPassword, file, admin }: AdministratorOptions & { file: string; admin: AdminUser },
): Promise<void> {
  const password = await choosePassword({ file, initial: initialPassword, username: admin.username });
  await client.query('UPDATE access.users SET password_hash = $2, password_changed = now() WHERE id = $1', [
    admin.id,
    await hasher.hash(password),
  ]);
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
  await client.query(
    `UPDATE access.personal_tokens t SET user_id = u.id FROM access.users u
      WHERE t.user_id IS NULL AND u.username_key = lower(t.username) AND u.username = t.username AND u.date_joined <= t.created`,
  );
  await client.query(
    `UPDATE access.personal_tokens t SET name = t.name || '-' || left(t.id::text, 8)
      WHERE EXISTS (SELECT 1 FROM access.personal_tokens o WHERE o.user_id = t.user_id AND o.name = t.name AND (o.created, o.id) < (t.created, t.id))`,
  );
}
