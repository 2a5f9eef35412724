import type { Logger } from 'pino';
import { isPersonalToken, newPersonalToken } from '#pkg/identity/index';
import type { Queryable } from '../access-database.ts';
import type { Audit } from '../audit/audit.ts';
import { TokenStore } from '../tokens/token-store.ts';
import { readSecretFile, writeSecretFile } from './secret-file.ts';

const NAME = 'initial-admin-token';

export interface AdminUser {
  id: string;
  username: string;
}

export interface AdminTokenOptions {
  /** Of the transaction that no other process runs at this time. */
  client: Queryable;
  audit: Audit;
  log: Logger;
  admin: AdminUser;
  file: string;
  initial: string | undefined;
}

/** Sees to it that the given token is known, and that the file holds a token. */
export async function ensureAdminToken(options: AdminTokenOptions): Promise<void> {
  const { client, log, admin, file, initial } = options;
  const kept = await readToken(file);
  const { rows } = await client.query('SELECT 1 FROM access.personal_tokens WHERE user_id = $1 LIMIT 1', [admin.id]);
  if (initial !== undefined) await add(options, initial);
  if (kept === undefined) {
    const token = initial ?? newPersonalToken();
    await add(options, token);
    await writeSecretFile(file, token);
    log.info({ file }, "the administrator's token was written");
    return;
  }
  // A new database under an old data folder.
  if (rows.length === 0) await add(options, kept);
  if (!(await isKnown(client, admin, kept)))
    log.warn(
      { file },
      'the token in this file is not known to the database; remove the file, and the next start makes one',
    );
}

/** One that is there stays as it is, a revoked one revoked. */
async function add({ client, audit, admin }: AdminTokenOptions, token: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `INSERT INTO access.personal_tokens (id, name, username, user_id, hash)
      SELECT made.id, CASE WHEN EXISTS (SELECT 1 FROM access.personal_tokens WHERE user_id = $2 AND name = $3) THEN $3 || '-' || left(made.id::text, 8) ELSE $3 END, $1, $2, $4
      FROM (SELECT gen_random_uuid()) made (id)
      ON CONFLICT (hash) DO NOTHING RETURNING name`,
    [admin.username, admin.id, NAME, TokenStore.hash(token)],
  );
  if (rows[0] !== undefined)
    await audit.operate(
      {
        actor: undefined,
        action: 'create',
        resourceType: 'personal_token',
        resource: rows[0].name,
        detail: `of ${admin.username}`,
      },
      client,
    );
}

async function isKnown(client: Queryable, { id }: AdminUser, token: string): Promise<boolean> {
  const { rows } = await client.query('SELECT 1 FROM access.personal_tokens WHERE user_id = $1 AND hash = $2', [
    id,
    TokenStore.hash(token),
  ]);
  return rows.length > 0;
}

/** Undefined where there is no file, or one without a token in it. */
async function readToken(file: string): Promise<string | undefined> {
  const text = (await readSecretFile(file))?.trim();
  return text !== undefined && isPersonalToken(text) ? text : undefined;
}
