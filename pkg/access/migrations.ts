import { sql } from 'kysely';
import type { Migration } from '#pkg/database/index';

/** Schema `access`. A migration is never changed once it has landed: the next one amends it. */
export const accessMigrations: readonly Migration[] = [
  {
    name: '0001_personal_tokens',
    async up(db) {
      await sql`CREATE TABLE access.personal_tokens (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        name text NOT NULL,
        username text NOT NULL,
        hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
        created timestamptz NOT NULL DEFAULT now(),
        expires timestamptz,
        revoked timestamptz)`.execute(db);
    },
  },
];
