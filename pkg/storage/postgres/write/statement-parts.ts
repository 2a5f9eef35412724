import { formatGroupResource } from '#pkg/apimachinery/index';
import { arrayLiteral, toSqlArray, toSqlValue } from '../table/sql-value.ts';
import { allModels } from '../table/limited-tables.ts';
import { isNamespaceTable, sqlType, tableName, type Table } from '../table/table.ts';
import type { BatchOperation } from './batch-operation.ts';
import { changesChannel } from '../connection/replica-presence.ts';
import { revisionLock } from '../connection/revision-lock.ts';

/** The identification of a batch. */
export interface BatchMark {
  /** The batch's mark in the log. */
  batch: string;
  /** The sender in the notification; undefined if none is sent. */
  origin: string | undefined;
}

/** An operation with its position in the statement. */
export interface PlacedOperation {
  operation: BatchOperation;
  position: number;
  mark: BatchMark;
}

/** A value of each operation that a statement takes as a parameter. */
export interface OperationParameter {
  column: string;
  type: string;
  /** Is the value an array literal? */
  isSet?: boolean;
  value: (placed: PlacedOperation) => unknown;
}

export const parameters = {
  position: { column: 'i', type: 'int', value: ({ position }) => position },
  type: { column: 'op', type: '"char"', value: ({ operation }) => operation.type },
  namespace: { column: 'namespace', type: 'text', value: ({ operation }) => operation.namespace },
  name: { column: 'name', type: 'text', value: ({ operation }) => operation.name },
  expected: { column: 'expected', type: 'bigint', value: ({ operation }) => operation.from?.revision ?? null },
  uid: { column: 'uid', type: 'uuid', value: ({ operation }) => operation.uid },
  created: { column: 'created', type: 'timestamptz', value: ({ operation }) => operation.created },
  deleted: { column: 'deleted', type: 'timestamptz', value: ({ operation }) => operation.deleted },
  labels: { column: 'labels', type: 'text[]', isSet: true, value: ({ operation }) => arrayLiteral(operation.labels) },
  fingerprint: { column: 'fingerprint', type: 'text', value: ({ operation }) => operation.fingerprint },
  body: { column: 'body', type: 'text', value: ({ operation }) => operation.body },
  managed: { column: 'managed', type: 'text', value: ({ operation }) => operation.managed || null },
  oldKeys: { column: 'old_keys', type: 'text', value: ({ operation }) => operation.computed?.oldText ?? null },
  newKeys: { column: 'new_keys', type: 'text', value: ({ operation }) => operation.computed?.text ?? null },
  fenceNamespace: { column: 'fence_namespace', type: 'text', value: ({ operation }) => operation.fence?.namespace },
  fenceLease: { column: 'fence_lease', type: 'text', value: ({ operation }) => operation.fence?.lease },
  fenceTransitions: {
    column: 'fence_transitions',
    type: 'int',
    value: ({ operation }) => operation.fence?.transitions,
  },
  auditId: { column: 'audit_id', type: 'text', value: ({ operation }) => operation.audit?.id ?? null },
  auditUser: { column: 'audit_user', type: 'text', value: ({ operation }) => operation.audit?.username ?? null },
  auditVerb: { column: 'audit_verb', type: 'text', value: ({ operation }) => operation.audit?.verb ?? null },
  auditCode: { column: 'audit_code', type: 'int', value: ({ operation }) => operation.audit?.code ?? null },
  auditEvent: { column: 'audit_event', type: 'text', value: ({ operation }) => operation.audit?.event ?? null },
  batch: { column: 'batch', type: 'uuid', value: ({ mark }) => mark.batch },
  origin: { column: 'origin', type: 'text', value: ({ mark }) => mark.origin },
} satisfies Record<string, OperationParameter>;

const idempotencyFields = {
  claim_user: 'user',
  claim_method: 'method',
  claim_path: 'path',
  claim_key: 'key',
  claim_hash: 'bodyHash',
} as const;

/** Null for an operation without an idempotency key. */
export const idempotencyParameters = Object.entries(idempotencyFields).map(([column, field]): OperationParameter => ({
  column,
  type: 'text',
  value: ({ operation }) => operation.idempotencyKey?.[field] ?? null,
}));

/** Null for an operation that the audit log does not keep. */
export const auditParameters: readonly OperationParameter[] = [
  parameters.auditId,
  parameters.auditUser,
  parameters.auditVerb,
  parameters.auditCode,
  parameters.auditEvent,
];

/** The keys of the table's indexes. */
export function columnParameters({ columns }: Table): OperationParameter[] {
  return columns.map(({ name: column, index }, i) => {
    const isDate = index.type === 'date';
    const type = sqlType(index);
    return index.multi
      ? {
          column,
          type: `${type}[]`,
          isSet: true,
          value: ({ operation }) => arrayLiteral(toSqlArray(operation.keys[i], isDate)),
        }
      : { column, type, value: ({ operation }) => toSqlValue(operation.keys[i], isDate) };
  });
}

/** SQL for a parameter of an operation: a placeholder of a single statement, a column of a batch's rows. */
export type ValueSql = (parameter: OperationParameter) => string;

export function lockRevision(from: string): string {
  return `locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${revisionLock})${from})`;
}

/** Selects the row to change, and locks it. */
export function lockRow(table: Table, namespace: string, name: string): string {
  return `SELECT m.rev AS found, m.body AS old_body, ${table.hasManaged ? 'm.managed' : 'NULL::text'} AS old_managed, m.fingerprint AS old_fingerprint FROM ${tableName(table)} m WHERE m.namespace = ${namespace} AND m.name = ${name} FOR UPDATE`;
}

/** Reads the lease after the lock is acquired, and before this statement writes anything. */
export function selectLeaseHeld(value: ValueSql): string {
  const { fenceNamespace, fenceLease, fenceTransitions } = parameters;
  return `platform.lease_held(${value(fenceNamespace)}, ${value(fenceLease)}, ${value(fenceTransitions)}) AS holds`;
}

/** The operations that drew a revision, for the statements that write them. */
export interface NumberedRows {
  table: Table;
  value: ValueSql;
  revision: string;
  from: string;
}

export interface WritableRows extends NumberedRows {
  /** SQL: is an operation of a limited table within the quotas? `added` is how many bytes it adds. */
  withinQuotas: (type: 'C' | 'U', added: string) => string;
}

/**
 * Asks for one operation of a limited table whether it is within the quotas. An object that is being deleted may grow:
 * nothing must keep it from going.
 */
export function selectWithinQuotas(type: 'C' | 'U', added: string, rows: NumberedRows): string {
  const { table, value, revision } = rows;
  const namespace = value(parameters.namespace);
  const twice = (each: string): string => `ARRAY[${each}, ${each}]`;
  const within = `platform.within_quota(ARRAY[${table.id}, ${allModels}], ${twice(namespace)}, ${twice(String(countOf[type]))}, ${twice(added)}, ${revision})`;
  return type === 'C' ? within : `(${value(parameters.deleted)} IS NOT NULL OR ${within})`;
}

/** How many objects an operation adds. */
export const countOf = { C: 1, U: 0, D: -1 } as const;

/** Writes operations of one type to their table. `explainFailure` finds out why one was not written. */
export function writeRows(type: BatchOperation['type'], rows: WritableRows, where: string): string {
  const { table, value, revision, from } = rows;
  const { namespace, name, uid, created, deleted, labels, fingerprint, body, managed } = parameters;
  const m = tableName(table);
  const content = [
    deleted,
    labels,
    fingerprint,
    body,
    ...(table.hasManaged ? [managed] : []),
    ...columnParameters(table),
  ];
  const quota = (added: string): string =>
    table.limited && type !== 'D' ? ` AND ${rows.withinQuotas(type, added)}` : '';
  if (type === 'C') {
    const exists = table.namespaced ? ` AND platform.namespace_exists(${value(namespace)}, ${revision})` : '';
    const guard = `${exists}${quota(`octet_length(${value(body)})`)}`;
    const more = [uid, created, ...content];
    return (
      `INSERT INTO ${m} (namespace, name, rev, ${more.map(({ column }) => column).join(', ')}) ` +
      `SELECT ${value(namespace)}, ${value(name)}, ${revision}, ${more.map(value).join(', ')} ` +
      `FROM ${from} WHERE ${where}${guard} ON CONFLICT DO NOTHING RETURNING rev`
    );
  }
  const key = `m.namespace = ${value(namespace)} AND m.name = ${value(name)}`;
  if (type === 'U') {
    const assigned = content.map((parameter) => `${parameter.column} = ${value(parameter)}`).join(', ');
    const guard = quota(`octet_length(${value(body)}) - octet_length(m.body)`);
    return `UPDATE ${m} m SET rev = ${revision}, ${assigned} FROM ${from} WHERE ${key} AND ${where}${guard} RETURNING m.rev`;
  }
  const guard = isNamespaceTable(table) ? ` AND NOT platform.namespace_in_use(${value(name)}, ${revision})` : '';
  return `DELETE FROM ${m} m USING ${from} WHERE ${key} AND ${where}${guard} RETURNING ${revision}`;
}

export interface LoggedRows extends NumberedRows {
  /** SQL of the change's type. */
  type: string;
  batch: string;
  /** The relation with the columns of `lockRow`; undefined for a create. */
  old: string | undefined;
  /** Does the statement log computed keys, of this or another table? */
  hasKeys: boolean;
}

/** The rows of the change log. The size counts bodies, managed fields and computed keys. */
export function selectChanges(rows: LoggedRows): string {
  const { table, value, revision, from, type, batch, old, hasKeys } = rows;
  const { namespace, name, body, managed, fingerprint, oldKeys, newKeys } = parameters;
  const before =
    old === undefined
      ? 'NULL, NULL, NULL, NULL::text'
      : `${old}.found, ${old}.old_body, ${old}.old_fingerprint, ${old}.old_managed`;
  const after = table.hasManaged ? value(managed) : 'NULL::text';
  const keys = table.computed === undefined ? [] : [value(oldKeys), value(newKeys)];
  const optional = [
    ...(table.hasManaged ? [after] : []),
    ...(old === undefined ? [] : [`${old}.old_body`, `${old}.old_managed`]),
    ...keys,
  ];
  const size = [`octet_length(${value(body)})`, ...optional.map((text) => `coalesce(octet_length(${text}), 0)`)];
  const logged = hasKeys && keys.length === 0 ? ['NULL::text', 'NULL::text'] : keys;
  return (
    `SELECT ${revision}, ${size.join(' + ')}, ${table.id}, ${type}, ${value(namespace)}, ${value(name)}, ${before}, ` +
    `${[value(body), value(fingerprint), after, batch, ...logged].join(', ')} FROM ${from}`
  );
}

export function insertChanges(changes: string, hasKeys: boolean): string {
  return `logged AS (INSERT INTO platform.change_log (rev, size, model, type, namespace, name, prev, old, old_fingerprint, old_managed, new, new_fingerprint, new_managed, batch${hasKeys ? ', old_keys, new_keys' : ''}) ${changes} RETURNING rev)`;
}

/** The rows of the audit log. */
export function selectAuditRows({ table, value, revision, from }: NumberedRows): string {
  const { namespace, name } = parameters;
  const resource = `'${formatGroupResource(table.resource).replaceAll("'", "''")}'`;
  return `SELECT ${auditParameters.map(value).join(', ')}, ${revision}, ${resource}, ${value(namespace)}, ${value(name)} FROM ${from}`;
}

export function insertAuditRows(rows: string): string {
  return `audited AS (INSERT INTO platform.audit_events (id, username, verb, code, event, rev, resource, namespace, name) ${rows})`;
}

export function notifyReplicas(origin: string, from: string): string {
  return `notified AS MATERIALIZED (SELECT pg_notify('${changesChannel}', ${origin}) FROM ${from})`;
}
