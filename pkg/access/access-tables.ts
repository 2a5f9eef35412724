import { sql, type ColumnType, type Generated, type GeneratedAlways } from 'kysely';
import { queryBuilder } from '#pkg/database/index';

/** TypeScript type that pg returns for each column type. */
export interface ColumnValues {
  bigint: string;
  boolean: boolean;
  bytea: Buffer;
  integer: number;
  text: string;
  'text[]': string[];
  timestamptz: Date;
  uuid: string;
}

/**
 * Columns are NOT NULL unless marked `null`. `default`: an insert may leave it out; `generated`: only PostgreSQL
 * computes it, as all columns of a view.
 */
type ColumnDescription = `${keyof ColumnValues}${'' | ' null' | ' default' | ' generated'}`;

/** Every table and view of schema `access` except the migrations table; a test compares them with the schema. */
export const accessColumns = {
  'access.access_keys': {
    id: 'uuid',
    user_id: 'uuid',
    secret: 'bytea',
    ip_group: 'text[] default',
    is_active: 'boolean default',
    date_created: 'timestamptz default',
    date_last_used: 'timestamptz null',
    sealed_by: 'text generated',
  },
  'access.bearer_tokens': {
    hash: 'bytea',
    user_id: 'uuid',
    created: 'timestamptz default',
    expires: 'timestamptz',
  },
  'access.key_checks': {
    key_id: 'text',
    sealed: 'bytea',
    date_created: 'timestamptz default',
  },
  'access.login_failures': {
    key: 'text',
    count: 'integer',
    since: 'timestamptz',
    expires: 'timestamptz',
  },
  'access.login_logs': {
    id: 'bigint generated',
    username: 'text',
    user_id: 'uuid null',
    type: 'text',
    remote_addr: 'text',
    user_agent: 'text',
    is_success: 'boolean',
    reason: 'text default',
    datetime: 'timestamptz default',
  },
  'access.operate_logs': {
    id: 'bigint generated',
    username: 'text',
    user_id: 'uuid null',
    action: 'text',
    resource_type: 'text',
    resource: 'text',
    detail: 'text default',
    remote_addr: 'text default',
    org_id: 'uuid null',
    request_id: 'text default',
    datetime: 'timestamptz default',
    credential_id: 'text default',
  },
  'access.org_role_bindings': {
    id: 'uuid default',
    user_id: 'uuid',
    org_id: 'uuid',
    role: 'text',
    created_by: 'text default',
    date_created: 'timestamptz default',
  },
  'access.organization_skeletons': {
    skeleton: 'bytea',
    owner: 'uuid',
    made_of: 'text',
  },
  'access.organizations': {
    id: 'uuid default',
    name: 'text',
    name_key: 'text',
    builtin: 'boolean default',
    comment: 'text default',
    created_by: 'text default',
    date_created: 'timestamptz default',
    date_updated: 'timestamptz default',
    namespace_ready: 'boolean default',
    namespace_checked: 'timestamptz null',
  },
  'access.personal_tokens': {
    id: 'uuid default',
    name: 'text',
    username: 'text',
    hash: 'bytea',
    created: 'timestamptz default',
    expires: 'timestamptz null',
    revoked: 'timestamptz null',
    user_id: 'uuid null',
    display_name: 'text default',
    roles: 'text[] null',
    last_used: 'timestamptz null',
  },
  'access.principals': {
    id: 'uuid generated',
    username: 'text generated',
    groups: 'text[] generated',
    is_valid: 'boolean generated',
    system_roles: 'text[] generated',
    org_roles: 'text[] generated',
  },
  'access.private_tokens': {
    user_id: 'uuid',
    lookup: 'bytea',
    secret: 'bytea',
    date_created: 'timestamptz default',
    date_last_used: 'timestamptz null',
    sealed_by: 'text generated',
  },
  'access.retired_usernames': {
    username_key: 'text',
    date_retired: 'timestamptz default',
  },
  'access.sessions': {
    id: 'uuid default',
    hash: 'bytea',
    user_id: 'uuid',
    created: 'timestamptz default',
    last_seen: 'timestamptz default',
    expires: 'timestamptz',
    remote_addr: 'text default',
    user_agent: 'text default',
  },
  'access.signature_uses': {
    hash: 'bytea',
    expires: 'timestamptz',
  },
  'access.system_role_bindings': {
    id: 'uuid default',
    user_id: 'uuid',
    role: 'text',
    created_by: 'text default',
    date_created: 'timestamptz default',
  },
  'access.throttles': {
    key: 'text',
    minute: 'timestamptz',
    used: 'integer',
  },
  'access.username_skeletons': {
    skeleton: 'bytea',
    owner: 'uuid',
    made_of: 'text',
  },
  'access.users': {
    id: 'uuid default',
    username: 'text',
    username_key: 'text',
    name: 'text',
    email: 'text null',
    email_key: 'text null',
    search_text: 'text',
    password_hash: 'text null',
    password_changed: 'timestamptz null',
    is_active: 'boolean default',
    date_joined: 'timestamptz default',
    date_expired: 'timestamptz null',
    last_login: 'timestamptz null',
    source: 'text default',
    created_by: 'text default',
    comment: 'text default',
    groups: 'text[] default',
  },
} as const satisfies Record<string, Record<string, ColumnDescription>>;

type Column<Description> = Description extends keyof ColumnValues
  ? ColumnType<ColumnValues[Description]>
  : Description extends `${infer Type extends keyof ColumnValues} null`
    ? ColumnType<ColumnValues[Type] | null>
    : Description extends `${infer Type extends keyof ColumnValues} default`
      ? Generated<ColumnValues[Type]>
      : Description extends `${infer Type extends keyof ColumnValues} generated`
        ? GeneratedAlways<ColumnValues[Type]>
        : never;

type Table<Columns> = { -readonly [Name in keyof Columns]: Column<Columns[Name]> };

/** Schema `access` as kysely knows it. */
export type AccessTables = { [Name in keyof typeof accessColumns]: Table<(typeof accessColumns)[Name]> };

/** Builds the statements of access management. */
export const accessQuery = queryBuilder.withTables<AccessTables>();

/** Start time of the transaction. */
export const currentTime = sql<Date>`now()`;
