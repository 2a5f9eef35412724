import type { Pool } from 'pg';
import {
  newAuditEvent,
  searchAuditLog,
  type AuditLog,
  type AuditPage,
  type AuditQuery,
  type AuditSelectors,
  type AuditSpan,
  type StoredAuditRecord,
} from '#pkg/audit/index';
import { databaseFailure } from '#pkg/database/index';
import { withCredentialId } from '#pkg/identity/index';

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
  credential_id: string;
}

/** Ids sort as the numbers do. `code` stands for success or failure: neither table has what the client got. */
const rowsText = `SELECT 'login-' || lpad(id::text, 19, '0') AS id, datetime, '' AS request_id, username, user_id, 'login' AS verb,
    CASE WHEN is_success THEN 201 WHEN type = 'basic' THEN 401 ELSE 400 END AS code, 'login' AS resource, username AS name, remote_addr, user_agent, reason AS detail, '' AS credential_id
    FROM access.login_logs
  UNION ALL
  SELECT 'operation-' || lpad(id::text, 19, '0'), datetime, request_id, username, user_id, action,
    CASE action WHEN 'failed_use' THEN 401 ELSE 200 END, resource_type, resource, remote_addr, '', detail, credential_id
    FROM access.operate_logs`;

/** Selectors that are columns. */
const columns = ['username', 'verb', 'code', 'name'] as const;

/**
 * The rows of access management's audit as events of the platform's audit log, with the same selectors: logins are
 * `login.access.svc.run`, other resources have their resource_type (`user.access.svc.run`). None is in a namespace.
 */
export class AccessAuditLog implements Pick<AuditLog, 'list'> {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async list(query: AuditQuery): Promise<AuditPage> {
    const { resource, namespace = '' } = query.selectors;
    if (namespace !== '' || (resource !== undefined && !resource.endsWith(suffix))) return { records: [] };
    return searchAuditLog(
      {
        readBounds: () => this.#readBounds(),
        readSpan: (span) => this.#readSpan(query.selectors, span),
        isTimeout: (error) => databaseFailure(error) === 'statement_timeout',
      },
      query,
    );
  }

  async #readBounds(): Promise<{ oldest: number; newest: number } | undefined> {
    const { rows } = await this.#pool.query<{ oldest: string | null; newest: string | null }>(
      `SELECT floor(extract(epoch FROM min(at)) * 1000) AS oldest, floor(extract(epoch FROM max(at)) * 1000) AS newest FROM (
        SELECT min(datetime) AS at FROM access.login_logs UNION ALL SELECT max(datetime) FROM access.login_logs
        UNION ALL SELECT min(datetime) FROM access.operate_logs UNION ALL SELECT max(datetime) FROM access.operate_logs) b`,
    );
    const [{ oldest, newest } = { oldest: null, newest: null }] = rows;
    return oldest === null || newest === null ? undefined : { oldest: Number(oldest), newest: Number(newest) };
  }

  async #readSpan(
    { resource, id, ...selectors }: AuditSelectors,
    { oldest, newest, limit, after }: AuditSpan,
  ): Promise<StoredAuditRecord[]> {
    const values: unknown[] = [];
    const bind = (value: unknown): string => `$${values.push(value)}`;
    const conditions = [
      `datetime >= to_timestamp(${bind(oldest / 1000)})`,
      `datetime < to_timestamp(${bind(newest / 1000)})`,
    ];
    for (const column of columns) {
      const value = selectors[column];
      if (value !== undefined) conditions.push(`${column} = ${bind(value)}`);
    }
    if (resource !== undefined) conditions.push(`resource = ${bind(resource.slice(0, -suffix.length))}`);
    if (id !== undefined) conditions.push(`${bind(id)} IN (request_id, id)`);
    if (after !== undefined)
      conditions.push(`(datetime, id COLLATE "C") < (${bind(after.at)}::timestamptz, ${bind(after.id)})`);
    const { rows } = await this.#pool.query<Row>(
      `SELECT *, to_char(datetime AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM (${rowsText}) l
        WHERE ${conditions.join(' AND ')} ORDER BY datetime DESC, id COLLATE "C" DESC LIMIT ${limit}`,
      values,
    );
    return rows.map(recordOf);
  }
}

function recordOf(row: Row): StoredAuditRecord {
  const { id, at, username, user_id: uid, verb, code, resource, name, remote_addr: address, detail } = row;
  const time = Date.parse(at);
  const user = { name: username, uid: uid ?? '', groups: [] };
  const event = newAuditEvent(
    {
      auditID: row.request_id === '' ? id : row.request_id,
      requestURI: '',
      verb,
      user: row.credential_id === '' ? user : withCredentialId(user, row.credential_id),
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
