import { sql } from 'kysely';
import type { Migration } from '#pkg/database/index';

/** Migrations of schema `access`. A released migration is never changed; a later one amends it. */
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
  {
    name: '0002_identity',
    async up(db) {
      for (const statement of identitySchema) await sql.raw(statement).execute(db);
    },
  },
  {
    name: '0003_name_skeletons',
    beside: '0002_identity',
    async up(db) {
      for (const statement of nameSkeletons) await sql.raw(statement).execute(db);
    },
  },
  {
    name: '0004_credential_ids',
    beside: '0003_name_skeletons',
    async up(db) {
      await sql`ALTER TABLE access.operate_logs ADD COLUMN credential_id text NOT NULL DEFAULT ''`.execute(db);
    },
  },
];

/**
 * `*_key` columns hold folded text (`users/fold-case.ts`), as the database's locale does not handle Unicode.
 * Credentials are looked up by a hash; secrets that must be readable again are sealed under a key outside the database
 * (`secrets/`).
 */
const identitySchema: readonly string[] = [
  `CREATE TABLE users (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    username text NOT NULL,
    username_key text NOT NULL UNIQUE,
    name text NOT NULL,
    email text,
    email_key text UNIQUE,
    search_text text NOT NULL,
    password_hash text,
    password_changed timestamptz,
    is_active boolean NOT NULL DEFAULT true,
    date_joined timestamptz NOT NULL DEFAULT now(),
    date_expired timestamptz,
    last_login timestamptz,
    source text NOT NULL DEFAULT 'local',
    created_by text NOT NULL DEFAULT '',
    comment text NOT NULL DEFAULT '',
    groups text[] NOT NULL DEFAULT '{}')`,
  'CREATE INDEX users_by_name ON users (name, id)',
  // Names of deleted users: bindings elsewhere to such a name are still meant for that user.
  'CREATE TABLE retired_usernames (username_key text PRIMARY KEY, date_retired timestamptz NOT NULL DEFAULT now())',
  `CREATE TABLE organizations (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL,
    name_key text NOT NULL UNIQUE,
    builtin boolean NOT NULL DEFAULT false,
    comment text NOT NULL DEFAULT '',
    created_by text NOT NULL DEFAULT '',
    date_created timestamptz NOT NULL DEFAULT now(),
    date_updated timestamptz NOT NULL DEFAULT now(),
    namespace_ready boolean NOT NULL DEFAULT false,
    namespace_checked timestamptz)`,
  `INSERT INTO organizations (id, name, name_key, builtin) VALUES
    ('00000000-0000-0000-0000-000000000000', 'ROOT', 'root', true),
    ('00000000-0000-0000-0000-000000000002', 'DEFAULT', 'default', true)`,
  `CREATE TABLE system_role_bindings (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    role text NOT NULL CHECK (role IN ('SystemAdmin', 'SystemAuditor', 'SystemUser')),
    created_by text NOT NULL DEFAULT '',
    date_created timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, role))`,
  `CREATE INDEX system_administrators ON system_role_bindings (user_id) WHERE role = 'SystemAdmin'`,
  `CREATE TABLE org_role_bindings (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    org_id uuid NOT NULL REFERENCES organizations,
    role text NOT NULL CHECK (role IN ('OrgAdmin', 'OrgAuditor', 'OrgUser')),
    created_by text NOT NULL DEFAULT '',
    date_created timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, org_id, role))`,
  'CREATE INDEX members_of_organizations ON org_role_bindings (org_id, user_id)',
  // Users and whether they are valid, with their roles; read for every request.
  `CREATE VIEW principals AS
    SELECT u.id, u.username, u.groups,
      u.is_active AND (u.date_expired IS NULL OR u.date_expired > now()) AS is_valid,
      ARRAY(SELECT s.role FROM system_role_bindings s WHERE s.user_id = u.id ORDER BY s.role) AS system_roles,
      ARRAY(SELECT o.org_id::text || ':' || o.role FROM org_role_bindings o WHERE o.user_id = u.id ORDER BY o.org_id, o.role) AS org_roles
    FROM users u`,
  `CREATE TABLE bearer_tokens (
    hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz NOT NULL)`,
  'CREATE INDEX bearer_tokens_of_users ON bearer_tokens (user_id)',
  'CREATE INDEX bearer_tokens_by_expiry ON bearer_tokens (expires)',
  `CREATE TABLE sessions (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    created timestamptz NOT NULL DEFAULT now(),
    last_seen timestamptz NOT NULL DEFAULT now(),
    expires timestamptz NOT NULL,
    remote_addr text NOT NULL DEFAULT '',
    user_agent text NOT NULL DEFAULT '')`,
  'CREATE INDEX sessions_of_users ON sessions (user_id)',
  'CREATE INDEX sessions_by_expiry ON sessions (expires)',
  `CREATE TABLE access_keys (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    secret bytea NOT NULL,
    ip_group text[] NOT NULL DEFAULT '{*}',
    is_active boolean NOT NULL DEFAULT true,
    date_created timestamptz NOT NULL DEFAULT now(),
    date_last_used timestamptz)`,
  'CREATE INDEX access_keys_of_users ON access_keys (user_id)',
  `CREATE TABLE private_tokens (
    user_id uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    lookup bytea NOT NULL UNIQUE,
    secret bytea NOT NULL,
    date_created timestamptz NOT NULL DEFAULT now(),
    date_last_used timestamptz)`,
  `CREATE TABLE key_checks (
    key_id text PRIMARY KEY,
    sealed bytea NOT NULL,
    date_created timestamptz NOT NULL DEFAULT now())`,
  ...['access_keys', 'private_tokens'].map(
    // The id of the sealing key: only a registered key can seal, and a key that a row needs cannot be deleted.
    (table) =>
      `ALTER TABLE ${table} ADD COLUMN sealed_by text GENERATED ALWAYS AS (encode(substring(secret from 2 for 6), 'hex')) STORED REFERENCES key_checks (key_id)`,
  ),
  // A crash of the database resets the counts; in return, writes need no write-ahead log.
  `CREATE UNLOGGED TABLE login_failures (
    key text PRIMARY KEY,
    count integer NOT NULL,
    since timestamptz NOT NULL,
    expires timestamptz NOT NULL)`,
  'CREATE INDEX login_failures_by_expiry ON login_failures (expires)',
  `CREATE UNLOGGED TABLE throttles (
    key text NOT NULL,
    minute timestamptz NOT NULL,
    used integer NOT NULL,
    PRIMARY KEY (key, minute))`,
  'CREATE INDEX throttles_by_minute ON throttles (minute)',
  `CREATE TABLE signature_uses (
    hash bytea PRIMARY KEY,
    expires timestamptz NOT NULL)`,
  'CREATE INDEX signature_uses_by_expiry ON signature_uses (expires)',
  `CREATE TABLE login_logs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    username text NOT NULL,
    user_id uuid,
    type text NOT NULL,
    remote_addr text NOT NULL,
    user_agent text NOT NULL,
    is_success boolean NOT NULL,
    reason text NOT NULL DEFAULT '',
    datetime timestamptz NOT NULL DEFAULT now())`,
  'CREATE INDEX login_logs_by_time ON login_logs (datetime, id)',
  'CREATE INDEX login_logs_of_users ON login_logs (user_id, datetime, id)',
  `CREATE TABLE operate_logs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    username text NOT NULL,
    user_id uuid,
    action text NOT NULL,
    resource_type text NOT NULL,
    resource text NOT NULL,
    detail text NOT NULL DEFAULT '',
    remote_addr text NOT NULL DEFAULT '',
    org_id uuid,
    request_id text NOT NULL DEFAULT '',
    datetime timestamptz NOT NULL DEFAULT now())`,
  'CREATE INDEX operate_logs_by_time ON operate_logs (datetime, id)',
  'CREATE INDEX operate_logs_of_organizations ON operate_logs (org_id, datetime, id)',
  // Until now a token only had its owner's name: those names become users. A replica of the previous release still
  // inserts without user_id.
  `INSERT INTO users (username, username_key, name, search_text)
    SELECT DISTINCT username, lower(username), username, lower(username) FROM personal_tokens`,
  'ALTER TABLE personal_tokens ADD COLUMN user_id uuid REFERENCES users ON DELETE CASCADE',
  "ALTER TABLE personal_tokens ADD COLUMN display_name text NOT NULL DEFAULT ''",
  'ALTER TABLE personal_tokens ADD COLUMN roles text[]',
  'ALTER TABLE personal_tokens ADD COLUMN last_used timestamptz',
  'UPDATE personal_tokens t SET user_id = u.id FROM users u WHERE u.username = t.username',
  `INSERT INTO system_role_bindings (user_id, role) SELECT id, role FROM users, (VALUES ('SystemUser'), ('SystemAdmin')) r (role)
    WHERE username = 'admin' OR role = 'SystemUser'`,
  `INSERT INTO org_role_bindings (user_id, org_id, role)
    SELECT id, '00000000-0000-0000-0000-000000000002', r.role FROM users, (VALUES ('OrgUser'), ('OrgAdmin')) r (role) WHERE username = 'admin' OR r.role = 'OrgUser'`,
  'CREATE INDEX personal_tokens_of_users ON personal_tokens (user_id)',
];

/** Skeletons of names (`names/name-claims.ts`), filled in the background; no two new names may share one. */
const nameSkeletons: readonly string[] = (['users', 'organizations'] as const).flatMap((table) => {
  const claims = { users: 'username_skeletons', organizations: 'organization_skeletons' }[table];
  return [
    `CREATE TABLE ${claims} (
      skeleton bytea PRIMARY KEY CHECK (octet_length(skeleton) = 32),
      owner uuid NOT NULL REFERENCES ${table} ON DELETE CASCADE,
      made_of text NOT NULL)`,
    `CREATE INDEX ${claims}_of_owners ON ${claims} (owner)`,
  ];
});
