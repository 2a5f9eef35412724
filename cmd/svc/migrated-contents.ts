import type { MigratedContents } from '#pkg/backup/index';

/** What each migration of schema `access` leaves, as a backup has to know it. A new one that makes or changes tables has its lines here: a test compares. */
export const accessContents: Readonly<Record<string, MigratedContents>> = {
  '0001_personal_tokens': {
    tables: {
      personal_tokens: ['id', 'name', 'username', 'hash', 'created', 'expires', 'revoked'],
    },
  },
  '0002_identity': {
    tables: {
      access_keys: ['id', 'user_id', 'secret', 'ip_group', 'is_active', 'date_created', 'date_last_used'],
      key_checks: ['key_id', 'sealed', 'date_created'],
      login_logs: ['id', 'username', 'user_id', 'type', 'remote_addr', 'user_agent', 'is_success', 'reason', 'datetime'],
      operate_logs: ['id', 'username', 'user_id', 'action', 'resource_type', 'resource', 'detail', 'remote_addr', 'org_id', 'request_id', 'datetime'],
      org_role_bindings: ['id', 'user_id', 'org_id', 'role', 'created_by', 'date_created'],
      organizations: ['id', 'name', 'name_key', 'builtin', 'comment', 'created_by', 'date_created', 'date_updated', 'namespace_ready', 'namespace_checked'],
      personal_tokens: ['id', 'name', 'username', 'hash', 'created', 'expires', 'revoked', 'user_id', 'display_name', 'roles', 'last_used'],
      private_tokens: ['user_id', 'lookup', 'secret', 'date_created', 'date_last_used'],
      retired_usernames: ['username_key', 'date_retired'],
      signature_uses: ['hash', 'expires'],
      system_role_bindings: ['id', 'user_id', 'role', 'created_by', 'date_created'],
      users: ['id', 'username', 'username_key', 'name', 'email', 'email_key', 'search_text', 'password_hash', 'password_changed', 'is_active', 'date_joined', 'date_expired', 'last_login', 'source', 'created_by', 'comment', 'groups'],
    },
    sequences: ['login_logs_id_seq', 'operate_logs_id_seq'],
  },
  '0003_name_skeletons': {
    tables: {
      organization_skeletons: ['skeleton', 'owner', 'made_of'],
      username_skeletons: ['skeleton', 'owner', 'made_of'],
    },
  },
};

/** Of schema `platform`, without the tables of models. */
export const platformContents: Readonly<Record<string, MigratedContents>> = {
  '0001_storage': {
    tables: {
      change_log: ['rev', 'size', 'model', 'type', 'namespace', 'name', 'prev', 'old', 'old_fingerprint', 'new', 'new_fingerprint', 'batch', 'at'],
      dropped_models: ['api_group', 'resource', 'rev'],
      idempotency_keys: ['username', 'method', 'path', 'key', 'body_hash', 'rev', 'namespace', 'name', 'body', 'fingerprint', 'at'],
      models: ['id', 'api_group', 'resource', 'namespaced', 'shape', 'replaces', 'columns_made', 'columns'],
    },
    sequences: ['models_id_seq', 'revision'],
  },
  '0006_owners': {
    tables: {
      models: ['id', 'api_group', 'resource', 'namespaced', 'shape', 'replaces', 'columns_made', 'columns', 'owners_indexed'],
    },
  },
  '0007_computed_keys': {
    tables: {
      change_log: ['rev', 'size', 'model', 'type', 'namespace', 'name', 'prev', 'old', 'old_fingerprint', 'new', 'new_fingerprint', 'batch', 'at', 'old_keys', 'new_keys'],
      models: ['id', 'api_group', 'resource', 'namespaced', 'shape', 'replaces', 'columns_made', 'columns', 'owners_indexed', 'key_script'],
    },
  },
};
