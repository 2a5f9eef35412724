import type pg from 'pg';
import type { State } from './state-digest.ts';

/** Columns with permissions; timestamps of use change with any response. */
const tables: Readonly<Record<string, string>> = {
  users: 'id, username, name, email, password_hash, password_changed, is_active, date_expired, comment, groups',
  organizations: 'id, name, comment, date_updated',
  system_role_bindings: '*',
  org_role_bindings: '*',
  bearer_tokens: '*',
  sessions: 'id, hash, user_id, created',
  access_keys: 'id, user_id, secret, ip_group, is_active',
  private_tokens: 'user_id, secret',
  personal_tokens: 'id, user_id, name, hash, expires, revoked, display_name, roles',
  key_checks: '*',
};

/** The state of access management, without logs and counters. */
export async function readAccessState(client: pg.Client): Promise<State> {
  const digests = Object.entries(tables).map(
    ([table, columns]) =>
      `SELECT '${table}' AS name, md5(coalesce(string_agg(r::text, '' ORDER BY r::text), '')) AS digest FROM (SELECT ${columns} FROM access.${table}) r`,
  );
  const { rows } = await client.query<{ name: string; digest: string }>(`${digests.join(' UNION ALL ')} ORDER BY name`);
  return { own: JSON.stringify(rows), others: '' };
}
