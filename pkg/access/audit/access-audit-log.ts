import type { Pool } from 'pg';
import {
  newAuditEvent,
  type AuditLog,
  type AuditPage,
  type AuditQuery,
  type AuditSelectors,
  type StoredAuditRecord,
} from '#pkg/audit/index';

/** The API group of access management's resources in the audit. */
const group = 'access.svc.run';
const suffix = `.${group}`;

interface Row {
  id: string;
  at: string;
  request_id: string;
  username: string;
  user_id: string | null;
  verb: string;
  code: number;
  resource: string;
  name: string;
  remote_addr: string;
  user_agent: string;
  detail: string;
}

/** Ids sort as the numbers do. `code` is what the client got: neither table has it. */
const rowsText = `SELECT 'login-' || lpad(id::text, 19, '0') AS id, datetime, '' AS request_id, username, user_id, 'login' AS verb,
    CASE WHEN is_success THEN 201 ELSE 400 END AS code, 'login' AS resource, username AS name, remote_addr, user_agent, reason AS detail
    FROM access.login_logs
  UNION ALL
  SELECT 'operation-' || lpad(id::text, 19, '0'), datetime, request_id, username, user_id, action,
    CASE action WHEN 'failed_use' THEN 401 ELSE 200 END, resource_type, resource, remote_addr, '', detail
    FROM access.operate_logs`;

const columns = {
  username: 'username',
  verb: 'verb',
  code: 'code',
  name: 'name',
} as const satisfies Partial<Record<keyof AuditSelectors, string>>;

/**
 * The rows of access management's audit as events of the platform's audit log, with the same selectors: logins are
 * `login.access.svc.run`, other resources have their resource_type (`user.access.svc.run`). None is in a namespace.
 */
export class AccessAuditLog implements Pick<AuditLog, 'list'> {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async list({ selectors, from, to, limit, after }: AuditQuery): Promise<AuditPage> {
    const { resource, namespace = '' } = selectors;
    if (namespace !== '' || (resource !== undefined && !resource.endsWith(suffix))) return { records: [] };
    const values: unknown[] = [];
    const bind = (value: unknown): string => `$${values.push(value)}`;
    const conditions = ['true'];
    for (const [selector, column] of Object.entries(columns)) {
      const value = selectors[selector as keyof typeof columns];
      if (value !== undefined) conditions.push(`${column} = ${bind(value)}`);
    }
    if (resource !== undefined) conditions.push(`resource = ${bind(resource.slice(0, -suffix.length))}`);
    if (selectors.id !== undefined) conditions.push(`${bind(selectors.id)} IN (request_id, id)`);
    if (from !== undefined) conditions.push(`datetime >= to_timestamp(${bind(from / 1000)})`);
    if (to !== undefined) conditions.push(`datetime < to_timestamp(${bind(to / 1000)})`);
    if (after !== undefined)
      conditions.push(`(datetime, id COLLATE "C") < (${bind(after.at)}::timestamptz, ${bind(after.id)})`);
    const { rows } = await this.#pool.query<Row>(
      `SELECT *, to_char(datetime AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM (${rowsText}) l
        WHERE ${conditions.join(' AND ')} ORDER BY datetime DESC, id COLLATE "C" DESC LIMIT ${limit + 1}`,
      values,
    );
    const records = rows.slice(0, limit).map(recordOf);
    const last = records.at(-1);
    return rows.length > limit && last !== undefined
      ? { records, next: { at: last.at, id: last.id, revision: 0 } }
      : { records };
  }
}

function recordOf(row: Row): StoredAuditRecord {
  const { id, at, username, user_id: uid, verb, code, resource, name, remote_addr: address, detail } = row;
  const time = Date.parse(at);
  const event = newAuditEvent(
    {
      auditID: row.request_id === '' ? id : row.request_id,
      requestURI: '',
      verb,
      user: { name: username, uid: uid ?? '', groups: [] },
      sourceIPs: address === '' ? [] : [address],
      userAgent: row.user_agent,
      group,
      version: '',
      resource,
      subresource: '',
      namespace: '',
      name,
      receivedAt: time,
    },
    {
      level: 'Metadata',
      stage: 'ResponseComplete',
      at: time,
      code,
      ...(detail === '' ? {} : { annotations: { 'svc.run/detail': detail } }),
    },
  );
  return {
    id,
    at,
    username,
    verb,
    code,
    resource: resource + suffix,
    namespace: '',
    name,
    event: JSON.stringify(event),
  };
}
