import type { Queryable } from '../access-database.ts';
import type { KeyRing } from './key-ring.ts';
import { SecretError, SecretKeyError } from './secret-error.ts';
import type { SecretKey } from './secret-key.ts';
import { sealedByColumn, sealedTables } from './sealed-tables.ts';

const CHECKED_TEXT = 'svc';

/** Tells the database of a key, before anything is sealed with it. */
export async function registerKey(client: Queryable, key: SecretKey): Promise<void> {
  await client.query('INSERT INTO access.key_checks (key_id, sealed) VALUES ($1, $2) ON CONFLICT (key_id) DO NOTHING', [
    key.id,
    key.seal(CHECKED_TEXT, checkPurpose(key.id)),
  ]);
}

/** Was any key ever registered here? */
export async function hasKeys(client: Queryable): Promise<boolean> {
  return (await client.query('SELECT 1 FROM access.key_checks LIMIT 1')).rows.length > 0;
}

/**
 * Registers the primary key of a ring that opens all there is. Throws SecretKeyError for any other ring, with nothing
 * written.
 */
export async function checkRing(client: Queryable, ring: KeyRing, origin: string): Promise<void> {
  const { rows: checks } = await client.query<{ key_id: string; sealed: Buffer }>(
    'SELECT key_id, sealed FROM access.key_checks',
  );
  const proven = checks.filter(({ key_id: id, sealed }) => opens(ring.find(id), sealed));
  if (checks.length > 0 && proven.length === 0) {
    throw new SecretKeyError(
      `The secrets in this database were sealed with another key than there is in ${origin}; bring that key back.`,
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

/** Ids of the keys that something is sealed with. */
async function keysInUse(client: Queryable): Promise<string[]> {
  const queries = Object.values(sealedTables).map(({ name }) => `SELECT ${sealedByColumn} AS id FROM access.${name}`);
  const { rows } = await client.query<{ id: string }>(queries.join(' UNION '));
  return rows.map(({ id }) => id);
}

function opens(key: SecretKey | undefined, sealed: Buffer): boolean {
  try {
    return key?.open(sealed, checkPurpose(key.id)) === CHECKED_TEXT;
  } catch (error) {
    if (error instanceof SecretError) return false;
    throw error;
  }
}

const checkPurpose = (id: string): string => `key-checks/${id}`;
