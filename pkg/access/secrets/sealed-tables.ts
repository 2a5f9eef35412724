import { accessQuery } from '../access-tables.ts';

/**
 * A table with a column `secret` that is sealed, and where a secret is looked up too, a column `lookup`. PostgreSQL
 * computes its column `sealed_by`, the id of the key: its place in `secret` is that of `SecretKey`.
 */
export interface SealedTable {
  readonly name: 'access.access_keys' | 'access.private_tokens';
  /** The column of its primary key, a uuid. */
  readonly id: 'id' | 'user_id';
  /** What the secret of this row is sealed for. */
  purposeOf(id: string): string;
  readonly lookupPurpose?: string;
}

/** Rows that another key than this one has sealed. */
export const selectSealedByOthers = (table: SealedTable, keyId: string) =>
  accessQuery.selectFrom(accessQuery.dynamic.table(table.name).as('t')).where('t.sealed_by', '<>', keyId);

/** Every one there is: `svc rotate-keys` seals them all anew. */
export const sealedTables = {
  accessKeys: { name: 'access.access_keys', id: 'id', purposeOf: (id) => `access-keys/${id}` },
  privateTokens: {
    name: 'access.private_tokens',
    id: 'user_id',
    purposeOf: (userId) => `private-tokens/${userId}`,
    lookupPurpose: 'private-tokens',
  },
} as const satisfies Record<string, SealedTable>;
