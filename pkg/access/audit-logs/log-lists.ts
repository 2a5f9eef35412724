import { sql, type Kysely, type RawBuilder } from 'kysely';
import { Type, type Static } from 'typebox';
import type { ListSource } from '../operations/list-answer.ts';
import { exactText, flag, time } from '../operations/field-schemas.ts';
import { keysetList, type KeysetSortKey } from '../operations/keyset-list.ts';
import { orderField, orderOf } from '../operations/order-field.ts';

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
  kysely: Kysely<unknown>;
  query: LogFilters;
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

const filter = (description: string) => Type.Optional(exactText({ description, maxLength: 1000 }));
const noSearch = ({ texts }: Log) => {
  const search = Type.Optional(Type.Never({ refusal: `There is no search here: ask for ${texts.join(', ')}.` }));
  return { search, q: search };
};
const timesAndOrder = {
  date_from: Type.Optional(time({ description: 'Not before.' })),
  date_to: Type.Optional(time({ description: 'Not after.' })),
  order: orderField(logOrders),
};
const username = filter('With exactly this username.');
const remote_addr = filter('From this address.');
export const loginLogFilters = Type.Object({
  username,
  type: Type.Optional(exactText({ description: 'Of this kind.', maxLength: 1000, examples: ['api', 'web', 'basic'] })),
  remote_addr,
  reason: filter('Refused for this reason.'),
  is_success: Type.Optional(flag({ description: 'Let in, or not.' })),
  status: Type.Optional(flag({ description: 'Like `is_success`.' })),
  ...noSearch(loginLog),
  ...timesAndOrder,
});
export const operateLogFilters = Type.Object({
  username,
  action: filter('What was done.'),
  resource_type: filter('To what kind of thing.'),
  resource: filter('To which.'),
  remote_addr,
  ...noSearch(operateLog),
  ...timesAndOrder,
});
/** By either of the two schemas. */
type LogFilters = Static<typeof loginLogFilters> | Static<typeof operateLogFilters>;

export const loginLogs = (options: LogListOptions): ListSource<LoginLogRow> => logList(loginLog, options);
export const operateLogs = (options: LogListOptions): ListSource<OperateLogRow> => logList(operateLog, options);

function logList<Row extends { datetime: Date }>(log: Log, { kysely, query, scope }: LogListOptions): ListSource<Row> {
  const where = [scope, ...filters(query, log)];
  const order = orderOf(query.order ?? '-datetime', logOrders);
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

function filters(query: LogFilters, { texts, flags }: Log): RawBuilder<unknown>[] {
  const sent: Readonly<Record<string, unknown>> = query;
  const where: RawBuilder<unknown>[] = [];
  for (const name of texts) {
    const value = sent[name];
    if (value !== undefined) where.push(sql`${sql.ref(name)} = ${value}`);
  }
  for (const [name, column] of Object.entries(flags)) {
    const value = sent[name];
    if (value !== undefined) where.push(sql`${sql.ref(column)} = ${value}`);
  }
  const { date_from: from, date_to: to } = query;
  if (from !== undefined) where.push(sql`datetime >= ${from}`);
  if (to !== undefined) where.push(sql`datetime <= ${to}`);
  return where;
}
