import { expressionBuilder, sql, type Expression, type Kysely, type Selectable, type SqlBool } from 'kysely';
import { builder, type AccessTables } from '../access-tables.ts';
import type { ListSource } from '../http/list-answer.ts';
import { FieldReader } from '../records/field-reader.ts';
import { keysetList, type KeysetSortKey } from '../records/keyset-list.ts';
import { readOrder } from '../records/read-order.ts';

export type LoginLogRow = Selectable<AccessTables['access.login_logs']>;
export type OperateLogRow = Selectable<AccessTables['access.operate_logs']>;

type LogTable = 'access.login_logs' | 'access.operate_logs';

interface LogListOptions {
  kysely: Kysely<AccessTables>;
  query: URLSearchParams;
  /** Which rows the caller may see. */
  scope: Expression<SqlBool>;
}

interface Log<Row> {
  table: LogTable;
  columns: readonly (keyof Row & string)[];
  /** Asked for by their names. */
  texts: readonly string[];
  flags: Readonly<Record<string, string>>;
}

const loginLog: Log<LoginLogRow> = {
  table: 'access.login_logs',
  columns: ['id', 'username', 'user_id', 'type', 'remote_addr', 'user_agent', 'is_success', 'reason', 'datetime'],
  texts: ['username', 'type', 'remote_addr', 'reason'],
  // By both names: JumpServer's clients ask for `status`.
  flags: { is_success: 'is_success', status: 'is_success' },
};

const operateLog: Log<OperateLogRow> = {
  table: 'access.operate_logs',
  columns: [
    'id',
    'username',
    'user_id',
    'action',
    'resource_type',
    'resource',
    'detail',
    'remote_addr',
    'org_id',
    'request_id',
    'datetime',
  ],
  texts: ['username', 'action', 'resource_type', 'resource', 'remote_addr'],
  flags: {},
};

/** The usual order is the newest first. */
export const logOrders: ReadonlyMap<string, KeysetSortKey> = new Map([
  ['datetime', { expression: sql.ref('datetime'), type: 'timestamptz' }],
  ['username', { expression: sql.ref('username'), type: 'text' }],
]);

export const loginLogs = (options: LogListOptions): ListSource<LoginLogRow> => logList(loginLog, options);
export const operateLogs = (options: LogListOptions): ListSource<OperateLogRow> => logList(operateLog, options);

/** Throws 400 by field for what is asked wrongly. */
function logList<Row extends { datetime: Date }>(
  log: Log<Row>,
  { kysely, query, scope }: LogListOptions,
): ListSource<Row> {
  const reader = FieldReader.ofQuery(query);
  const conditions = [scope, ...filters(reader, log)];
  const order = reader.has('order')
    ? readOrder(reader, logOrders)
    : { ...logOrders.get('datetime')!, isDescending: true };
  reader.done();
  return keysetList({
    kysely,
    rows: builder
      .selectFrom(builder.dynamic.table(log.table).as('log'))
      .select(log.columns.map((name) => sql.ref(name).as(name)))
      .where((eb) => eb.and(conditions))
      .$castTo<Row>(),
    order,
    id: sql.ref('id'),
    idType: 'bigint',
    // One by one, as a batch's rows carry its sort keys as well.
    present: (row: Row) => ({
      ...Object.fromEntries(log.columns.map((name) => [name, row[name]])),
      datetime: row.datetime.toISOString(),
    }),
  });
}

function filters(reader: FieldReader, { texts, flags }: Pick<Log<unknown>, 'texts' | 'flags'>): Expression<SqlBool>[] {
  const conditions: Expression<SqlBool>[] = [];
  const eb = expressionBuilder<AccessTables, LogTable>();
  for (const name of texts) {
    const value = reader.text(name, { isExact: true, longest: 1000 });
    if (value !== undefined) conditions.push(eb(sql.ref(name), '=', value));
  }
  for (const [name, column] of Object.entries(flags)) {
    const value = reader.boolean(name);
    if (value !== undefined) conditions.push(eb(sql.ref(column), '=', value));
  }
  for (const name of ['search', 'q'])
    if (reader.has(name)) reader.refuse(name, `There is no search here: ask for ${texts.join(', ')}.`);
  const [from, to] = [reader.time('date_from'), reader.time('date_to')];
  if (from instanceof Date) conditions.push(eb('datetime', '>=', from));
  if (to instanceof Date) conditions.push(eb('datetime', '<=', to));
  return conditions;
}
