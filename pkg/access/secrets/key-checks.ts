import { runQuery, type Queryable } from '#pkg/database/index';
import { accessQuery } from '../access-tables.ts';
import type { KeyRing } from './key-ring.ts';
import { SecretError, SecretKeyError } from './secret-error.ts';
import type { SecretKey } from './secret-key.ts';
import { sealedTables } from './sealed-tables.ts';

const checkText = 'svc';

/** Registers a key in the database, before anything is sealed with it. */
export async function registerKey(client: Queryable, key: SecretKey): Promise<void> {
  const insert = accessQuery
    .insertInto('access.key_checks')
    .values({ key_id: key.id, sealed: key.seal(checkText, checkPurpose(key.id)) })
    .onConflict((conflict) => conflict.column('key_id').doNothing());
  await runQuery(client, insert);
}

/** Is any key registered? */
export async function hasKeys(client: Queryable): Promise<boolean> {
  return (
    (await runQuery(client, accessQuery.selectFrom('access.key_checks').select('key_id').limit(1))).rows.length > 0
  );
}

/**
 * Registers the primary key of a ring that can open every secret. For any other ring throws SecretKeyError and writes
 * nothing.
 */
export async function checkRing(client: Queryable, ring: KeyRing, origin: string): Promise<void> {
  const { rows: checks } = await runQuery(
    client,
    accessQuery.selectFrom('access.key_checks').select(['key_id', 'sealed']),
  );
  const proven = checks.filter(({ key_id: id, sealed }) => opens(ring.find(id), sealed));
  if (checks.length > 0 && proven.length === 0) {
    throw new SecretKeyError(
      `The secrets in this database were sealed with another key than there is in ${origin}; restore that key.`,
    );
  }
  const missing = (await keysInUse(client)).find((id) => ring.find(id) === undefined);
  if (missing !== undefined) {
    throw new SecretKeyError(
      `Some secrets in this database are sealed with the key ${missing}, which is not in ${origin}; add that key there, behind the first.`,
    );
  }
  await registerKey(client, ring.primary);
}

/** Ids of the keys that seal at least one secret. */
async function keysInUse(client: Queryable): Promise<string[]> {
  const ids = new Set<string>();
  for (const { name } of Object.values(sealedTables)) {
    const { rows } = await runQuery(client, accessQuery.selectFrom(name).select('sealed_by').distinct());
    for (const row of rows) ids.add(row.sealed_by);
  }
  return [...ids];
}

function opens(key: SecretKey | undefined, sealed: Buffer): boolean {
  try {
    return key?.open(sealed, checkPurpose(key.id)) === checkText;
  } catch (error) {
    if (error instanceof SecretError) return false;
    throw error;
  }
}

const checkPurpose = (id: string): string => `key-checks/${id}`;
