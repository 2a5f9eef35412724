import type { ColumnType, Generated } from 'kysely';

type Time = ColumnType<Date, Date | string | undefined, Date | string>;
type OptionalTime = ColumnType<Date | null, Date | string | null | undefined, Date | string | null>;

/** What statements that are put together read of schema `access`; the columns are in `migrations.ts`. */
export type AccessTables = {
  users: {
    id: Generated<string>;
    username: string;
    username_key: string;
    name: string;
    email: string | null;
    email_key: string | null;
    search_text: string;
    password_hash: string | null;
    password_changed: OptionalTime;
    is_active: Generated<boolean>;
    date_joined: Time;
    date_expired: OptionalTime;
    last_login: OptionalTime;
    source: Generated<string>;
    created_by: Generated<string>;
    comment: Generated<string>;
    groups: Generated<string[]>;
  };
  organizations: {
    id: Generated<string>;
    name: string;
    name_key: string;
    builtin: Generated<boolean>;
    comment: Generated<string>;
    created_by: Generated<string>;
    date_created: Time;
    date_updated: Time;
    namespace_ready: Generated<boolean>;
  };
  system_role_bindings: { id: Generated<string>; user_id: string; role: string; created_by: Generated<string>; date_created: Time };
  org_role_bindings: { id: Generated<string>; user_id: string; org_id: string; role: string; created_by: Generated<string>; date_created: Time };
  access_keys: { id: string; user_id: string; secret: Buffer; ip_group: string[]; is_active: boolean; date_created: Time; date_last_used: OptionalTime };
  sessions: { id: Generated<string>; hash: Buffer; user_id: string; created: Time; last_seen: Time; expires: Time; remote_addr: string; user_agent: string };
  login_logs: { id: Generated<string>; username: string; user_id: string | null; type: string; remote_addr: string; user_agent: string; is_success: boolean; reason: string; datetime: Time };
  operate_logs: {
    id: Generated<string>;
    username: string;
    user_id: string | null;
    action: string;
    resource_type: string;
    resource: string;
    detail: string;
    remote_addr: string;
    org_id: string | null;
    request_id: string;
    datetime: Time;
  };
};
