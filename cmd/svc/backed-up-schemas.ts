import { accessMigrations } from '#pkg/access/index';
import { BackupError, type BackedUpSchema, type SchemaState } from '#pkg/backup/index';
import { adoptRestored, historyLimits, modelTables, platformMigrations, readHistory, rememberedChanges, type HistoryState } from '#pkg/storage/index';

/** What a backup holds. */
export const backedUpSchemas: readonly BackedUpSchema[] = [
  // Who was logged in logs in again: a session that was ended since the backup must not come back.
  {
    name: 'access',
    migrations: accessMigrations,
    tables: columnsOf({
      access_keys: 'id user_id secret ip_group is_active date_created date_last_used',
      key_checks: 'key_id sealed date_created',
      login_logs: 'id username user_id type remote_addr user_agent is_success reason datetime',
      operate_logs: 'id username user_id action resource_type resource detail remote_addr org_id request_id datetime',
      org_role_bindings: 'id user_id org_id role created_by date_created',
      organizations: 'id name name_key builtin comment created_by date_created date_updated namespace_ready namespace_checked',
      personal_tokens: 'id name username hash created expires revoked user_id display_name roles last_used',
      private_tokens: 'user_id lookup secret date_created date_last_used',
      retired_usernames: 'username_key date_retired',
      signature_uses: 'hash expires',
      system_role_bindings: 'id user_id role created_by date_created',
      users: 'id username username_key name email email_key search_text password_hash password_changed is_active date_joined date_expired last_login source created_by comment groups',
    }),
    sequences: ['login_logs_id_seq', 'operate_logs_id_seq'],
    leftOut: ['sessions', 'bearer_tokens'],
    selections: {},
  },
  {
    name: 'platform',
    migrations: platformMigrations,
    tables: columnsOf({
      change_log: 'rev size model type namespace name prev old old_fingerprint new new_fingerprint batch at old_keys new_keys',
      dropped_models: 'api_group resource rev',
      idempotency_keys: 'username method path key body_hash rev namespace name body fingerprint at',
      models: 'id api_group resource namespaced shape replaces columns_made columns owners_indexed key_script',
    }),
    sequences: ['models_id_seq', 'revision'],
    // Where a database is it knows by itself, and nobody may go on from the history of another.
    leftOut: ['meta'],
    selections: { change_log: rememberedChanges },
    runtimeTables: modelTables,
    stateLimits: { ...historyLimits },
    readState: async (client) => ({ ...(await readHistory(client)) }),
    adopt: async (client, { state, replaced, tables }) => {
      const known = [state, ...(replaced === undefined ? [] : [replaced])].map(historyOf);
      const fault = await adoptRestored(client, { known, tables });
      if (fault !== undefined) throw new BackupError(`The backup is not this program's work: ${fault}.`);
    },
  },
];

function columnsOf(tables: Readonly<Record<string, string>>): Record<string, readonly string[]> {
  return Object.fromEntries(Object.entries(tables).map(([table, columns]) => [table, columns.split(' ')]));
}

/** Of a backup without them the counters begin where a new database has them. */
function historyOf({ revision, epoch }: SchemaState): HistoryState {
  return { revision: Math.max(1, revision ?? 1), epoch: Math.max(1, epoch ?? 1) };
}
