import { accessQuery } from '../access-tables.ts';

/**
 * A table with a sealed column `secret`, and, if it is searched by secret, a column `lookup`. PostgreSQL computes its
 * column `sealed_by`, the key's id, from the bytes of `secret` at the position that `SecretKey` defines.
 */
export interface SealedTable {
  readonly name: 'access.access_keys' | 'access.private_tokens';
  /** Primary key column, a uuid. */
  readonly id: 'id' | 'user_id';
  /** The purpose with which the secret of this row is sealed. */
  purposeOf(id: string): string;
  readonly lookupPurpose?: string;
}

/** Rows that are not sealed with this key. */
export const selectSealedByOthers = (table: SealedTable, keyId: string) =>
  accessQuery.selectFrom(accessQuery.dynamic.table(table.name).as('t')).where('t.sealed_by', '<>', keyId);

/** All sealed tables; `svc rotate-keys` reseals them. */
export const sealedTables = {
  accessKeys: { name: 'access.access_keys', id: 'id', purposeOf: (id) => `access-keys/${id}` },
  privateTokens: {
    name: 'access.private_tokens',
    id: 'user_id',
    purposeOf: (userId) => `private-tokens/${userId}`,
    lookupPurpose: 'private-tokens',
  },
} as const satisfies Record<string, SealedTable>;
