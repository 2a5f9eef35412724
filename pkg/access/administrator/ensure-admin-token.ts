import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { runQuery, type Queryable } from '#pkg/database/index';
import { isPersonalToken, newPersonalToken } from '#pkg/identity/index';
import { accessQuery } from '../access-tables.ts';
import type { Audit } from '../audit/audit.ts';
import { TokenStore } from '../tokens/token-store.ts';
import { readSecretFile, writeSecretFile } from './secret-file.ts';

const tokenName = 'initial-admin-token';

export interface AdminUser {
  id: string;
  username: string;
}

export interface EnsureAdminTokenOptions {
  /** In a transaction that only one process runs at a time. */
  client: Queryable;
  audit: Audit;
  log: Logger;
  admin: AdminUser;
  file: string;
  initial: string | undefined;
}

/** Ensures that the database has the given token, and that the file holds a token. */
export async function ensureAdminToken(options: EnsureAdminTokenOptions): Promise<void> {
  const { client, log, admin, file, initial } = options;
  const kept = await readToken(file);
  const { rows } = await runQuery(client, tokensOf(admin).limit(1));
  if (initial !== undefined) await add(options, initial);
  if (kept === undefined) {
    const token = initial ?? newPersonalToken();
    await add(options, token);
    await writeSecretFile(file, token);
    log.info({ file }, "wrote the administrator's token");
    return;
  }
  // A new database with an old data folder.
  if (rows.length === 0) await add(options, kept);
  if (!(await isKnown(client, admin, kept)))
    log.warn(
      { file },
      'the database does not know the token in this file; remove the file, and the next start creates a new token',
    );
}

const tokensOf = ({ id }: AdminUser) =>
  accessQuery.selectFrom('access.personal_tokens').select('id').where('user_id', '=', id);

/** Adds a token; an existing one is left unchanged, revoked or not. */
async function add({ client, audit, admin }: EnsureAdminTokenOptions, token: string): Promise<void> {
  const id = randomUUID();
  const { rows: taken } = await runQuery(client, tokensOf(admin).where('name', '=', tokenName));
  const insert = accessQuery
    .insertInto('access.personal_tokens')
    .values({
      id,
      name: taken.length === 0 ? tokenName : `${tokenName}-${id.slice(0, 8)}`,
      username: admin.username,
      user_id: admin.id,
      hash: TokenStore.hash(token),
    })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .returning('name');
  const { rows } = await runQuery(client, insert);
  if (rows[0] !== undefined)
    await audit.recordOperation(
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

async function isKnown(client: Queryable, admin: AdminUser, token: string): Promise<boolean> {
  const { rows } = await runQuery(client, tokensOf(admin).where('hash', '=', TokenStore.hash(token)));
  return rows.length > 0;
}

/** Undefined if there is no file, or no token in it. */
async function readToken(file: string): Promise<string | undefined> {
  const text = (await readSecretFile(file))?.trim();
  return text !== undefined && isPersonalToken(text) ? text : undefined;
}
