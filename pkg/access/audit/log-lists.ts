import { expressionBuilder, sql, type Expression, type Kysely, type SqlBool } from 'kysely';
import { Type, type Static, type TObject } from 'typebox';
import { accessQuery, type AccessTables } from '../access-tables.ts';
import type { ListSource } from '../operations/list-answer.ts';
import { auditActions } from './audit.ts';
import { filterText, flag, nullable, oneOf, time, timestamp, uuid } from '../operations/field-schemas.ts';
import { keysetList, type KeysetSortKey } from '../operations/keyset-list.ts';
import { recordOf } from '../operations/record-of.ts';
import { orderField, orderOf } from '../operations/order-field.ts';

/** Record of a row of `access.login_logs`. */
export const loginLogRecord = Type.Object({
  id: Type.String(),
  username: Type.String({ description: "As it was given; of a success, the user's own." }),
  user_id: nullable(uuid()),
  type: oneOf(['api', 'web', 'basic']),
  remote_addr: Type.String(),
  user_agent: Type.String(),
  is_success: Type.Boolean(),
  reason: oneOf(['', 'password_failed', 'block_login', 'user_inactive', 'user_expired']),
  datetime: timestamp(),
});

/** Record of a row of `access.operate_logs`. */
export const operateLogRecord = Type.Object({
  id: Type.String(),
  username: Type.String({ description: 'Who did it; empty where nobody is known.' }),
  user_id: nullable(uuid()),
  action: oneOf(auditActions),
  resource_type: Type.String(),
  resource: Type.String({ description: 'Name or id of what it was done to.' }),
  detail: Type.String(),
  remote_addr: Type.String(),
  org_id: nullable(uuid()),
  request_id: Type.String({ description: "As in the answer's `X-Request-Id`." }),
  credential_id: Type.String({
    description: 'Which credential it was done with: `SESSION=<id>`, `ACCESSKEY=<id>`; empty where none is known.',
  }),
  datetime: timestamp(),
});

type LogTable = 'access.login_logs' | 'access.operate_logs';

interface LogListOptions {
  kysely: Kysely<AccessTables>;
  query: LogFilters;
  /** Which rows the caller may see. */
  scope: Expression<SqlBool>;
}

interface Log {
  table: LogTable;
  /** Query parameters that compare text columns. */
  texts: readonly string[];
  flags: Readonly<Record<string, string>>;
}

const loginLog: Log = {
  table: 'access.login_logs',
  texts: ['username', 'type', 'remote_addr', 'reason'],
  // Both names, as JumpServer's clients use `status`.
  flags: { is_success: 'is_success', status: 'is_success' },
};

const operateLog: Log = {
  table: 'access.operate_logs',
  texts: ['username', 'action', 'resource_type', 'resource', 'remote_addr'],
  flags: {},
};

/** Default order: newest first. */
export const logOrders: ReadonlyMap<string, KeysetSortKey> = new Map([
  ['datetime', { expression: sql.ref('datetime'), type: 'timestamptz' }],
  ['username', { expression: sql.ref('username'), type: 'text' }],
]);

const noSearch = ({ texts }: Log) => {
  const search = Type.Optional(Type.Never({ refusal: `There is no search here: ask for ${texts.join(', ')}.` }));
  return { search, q: search };
};
const timesAndOrder = {
  date_from: Type.Optional(time({ description: 'Not before.' })),
  date_to: Type.Optional(time({ description: 'Not after.' })),
  order: orderField(logOrders),
};
const username = filterText('With exactly this username.');
const remote_addr = filterText('From this address.');
export const loginLogFilters = Type.Object({
  username,
  type: filterText('Of this kind.', { examples: ['api', 'web', 'basic'] }),
  remote_addr,
  reason: filterText('Refused for this reason.'),
  is_success: Type.Optional(flag({ description: 'Let in, or not.' })),
  status: Type.Optional(flag({ description: 'Like `is_success`.' })),
  ...noSearch(loginLog),
  ...timesAndOrder,
});
export const operateLogFilters = Type.Object({
  username,
  action: filterText('What was done.'),
  resource_type: filterText('To what kind of thing.'),
  resource: filterText('To which.'),
  remote_addr,
  ...noSearch(operateLog),
  ...timesAndOrder,
});
/** Filters of either log. */
type LogFilters = Static<typeof loginLogFilters> | Static<typeof operateLogFilters>;

export const loginLogs = (options: LogListOptions) => logList({ ...loginLog, record: loginLogRecord }, options);
export const operateLogs = (options: LogListOptions) => logList({ ...operateLog, record: operateLogRecord }, options);

function logList<Record extends TObject>(
  log: Log & { record: Record },
  { kysely, query, scope }: LogListOptions,
): ListSource<object, Static<Record>> {
  const conditions = [scope, ...filters(query, log)];
  const order = orderOf(query.order ?? '-datetime', logOrders);
  const columns = Object.keys(log.record.properties);
  return keysetList({
    kysely,
    rows: accessQuery
      .selectFrom(accessQuery.dynamic.table(log.table).as('log'))
      .select(columns.map((name) => sql.ref(name).as(name)))
      .where((eb) => eb.and(conditions)),
    order,
    id: sql.ref('id'),
    idType: 'bigint',
    // Rows also have the sort keys of their batch, which are left out.
    present: (row: object) => recordOf(log.record, row),
  });
}

function filters(query: LogFilters, { texts, flags }: Log): Expression<SqlBool>[] {
  const sent: Readonly<Record<string, unknown>> = query;
  const conditions: Expression<SqlBool>[] = [];
  const eb = expressionBuilder<AccessTables, LogTable>();
  for (const name of texts) {
    const value = sent[name];
    if (value !== undefined) conditions.push(eb(sql.ref(name), '=', value));
  }
  for (const [name, column] of Object.entries(flags)) {
    const value = sent[name];
    if (value !== undefined) conditions.push(eb(sql.ref(column), '=', value));
  }
  const { date_from: from, date_to: to } = query;
  if (from !== undefined) conditions.push(eb('datetime', '>=', from));
  if (to !== undefined) conditions.push(eb('datetime', '<=', to));
  return conditions;
}
