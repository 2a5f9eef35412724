/**
 * A table of schema access with a column `secret` that is sealed, and where a secret is looked up too, a column
 * `lookup`.
 */
export interface SealedTable {
  readonly name: 'access_keys' | 'private_tokens';
  /** The column of its primary key, a uuid. */
  readonly id: 'id' | 'user_id';
  /** What the secret of this row is sealed for. */
  purposeOf(id: string): string;
  readonly lookupPurpose?: string;
}

/** Every one there is: `svc rotate-keys` seals them all anew. */
export const sealedTables = {
  accessKeys: { name: 'access_keys', id: 'id', purposeOf: (id) => `access-keys/${id}` },
  privateTokens: {
    name: 'private_tokens',
    id: 'user_id',
    purposeOf: (userId) => `private-tokens/${userId}`,
    lookupPurpose: 'private-tokens',
  },
} as const satisfies Record<string, SealedTable>;

/**
 * The id of the key that sealed the column, in SQL; the place is that of `SecretKey`, and generated columns of the
 * schema have it too.
 */
export const sealedByColumn = "encode(substring(secret from 2 for 6), 'hex')";
