import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { AccessTables } from '../access-tables.ts';
import type { ListSource } from '../http/list-answer.ts';
import { FieldReader } from '../records/field-reader.ts';
import { keysetList, type KeysetSortKey } from '../records/keyset-list.ts';
import { readOrder } from '../records/read-order.ts';

/** A row of `access.login_logs`, as pg gives it. */
export interface LoginLogRow {
  id: string;
  username: string;
  user_id: string | null;
  type: string;
  remote_addr: string;
  user_agent: string;
  is_success: boolean;
  reason: string;
  datetime: Date;
}

/** A row of `access.operate_logs`, as pg gives it. */
export interface OperateLogRow {
  id: string;
  username: string;
  user_id: string | null;
  action: string;
  resource_type: string;
  resource: string;
  detail: string;
  remote_addr: string;
  org_id: string | null;
  request_id: string;
  datetime: Date;
}

interface LogListOptions {
  kysely: Kysely<AccessTables>;
  query: URLSearchParams;
  /** Which rows the caller may see. */
  scope: RawBuilder<unknown>;
}

interface Log {
  table: 'login_logs' | 'operate_logs';
  columns: string;
  /** Asked for by their names. */
  texts: readonly string[];
  flags: Readonly<Record<string, string>>;
}

const loginLog: Log = {
  table: 'login_logs',
  columns: 'id, username, user_id, type, remote_addr, user_agent, is_success, reason, datetime',
  texts: ['username', 'type', 'remote_addr', 'reason'],
  // By both names: JumpServer's clients ask for `status`.
  flags: { is_success: 'is_success', status: 'is_success' },
};

const operateLog: Log = {
  table: 'operate_logs',
  columns: 'id, username, user_id, action, resource_type, resource, detail, remote_addr, org_id, request_id, datetime',
  texts: ['username', 'action', 'resource_type', 'resource', 'remote_addr'],
  flags: {},
};

/** The usual order is the newest first. */
export const logOrders: ReadonlyMap<string, KeysetSortKey> = new Map([
  ['datetime', { expression: sql`datetime`, type: 'timestamptz' }],
  ['username', { expression: sql`username`, type: 'text' }],
]);

export const loginLogs = (options: LogListOptions): ListSource<LoginLogRow> => logList(loginLog, options);
export const operateLogs = (options: LogListOptions): ListSource<OperateLogRow> => logList(operateLog, options);

/** Throws 400 by field for what is asked wrongly. */
function logList<Row extends { datetime: Date }>(log: Log, { kysely, query, scope }: LogListOptions): ListSource<Row> {
  const reader = FieldReader.ofQuery(query);
  const where = [scope, ...filters(reader, log)];
  const order = reader.has('order')
    ? readOrder(reader, logOrders)
    : { ...logOrders.get('datetime')!, isDescending: true };
  reader.done();
  return keysetList({
    kysely,
    columns: sql.raw(log.columns),
    from: sql`access.${sql.raw(log.table)}`,
    where,
    order,
    id: sql`id`,
    idType: 'bigint',
    // One by one, as a batch's rows carry its sort keys as well.
    present: (row: Row) => ({
      ...Object.fromEntries(log.columns.split(', ').map((name) => [name, row[name as keyof Row]])),
      datetime: row.datetime.toISOString(),
    }),
  });
}

function filters(reader: FieldReader, { texts, flags }: Log): RawBuilder<unknown>[] {
  const where: RawBuilder<unknown>[] = [];
  for (const name of texts) {
    const value = reader.text(name, { isExact: true, longest: 1000 });
    if (value !== undefined) where.push(sql`${sql.ref(name)} = ${value}`);
  }
  for (const [name, column] of Object.entries(flags)) {
    const value = reader.boolean(name);
    if (value !== undefined) where.push(sql`${sql.ref(column)} = ${value}`);
  }
  for (const name of ['search', 'q'])
    if (reader.has(name)) reader.refuse(name, `There is no search here: ask for ${texts.join(', ')}.`);
  const [from, to] = [reader.time('date_from'), reader.time('date_to')];
  if (from instanceof Date) where.push(sql`datetime >= ${from}`);
  if (to instanceof Date) where.push(sql`datetime <= ${to}`);
  return where;
}
