import { changesChannel } from '../connection/replica-presence.ts';
import { revisionLock } from '../connection/revision-lock.ts';
import { isNamespaceTable, tableName, type Table } from '../table/table.ts';
import type { BatchOperation } from './batch-operation.ts';
import { columnParameters, parameters, type OperationParameter } from './operation-parameters.ts';

/** SQL for a parameter of an operation: a placeholder of a single statement, a column of a batch's rows. */
export type ValueSql = (parameter: OperationParameter) => string;

export function lockRevision(from: string): string {
  return `locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${revisionLock})${from})`;
}

/** Selects the row to change, and locks it. */
export function lockRow(table: Table, namespace: string, name: string): string {
  return `SELECT m.rev AS found, m.body AS old_body, m.fingerprint AS old_fingerprint FROM ${tableName(table)} m WHERE m.namespace = ${namespace} AND m.name = ${name} FOR UPDATE`;
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

/** Writes operations of one type to their table. `explainFailure` finds out why one was not written. */
export function writeRows(type: BatchOperation['type'], rows: NumberedRows, where: string): string {
  const { table, value, revision, from } = rows;
  const { namespace, name, uid, created, deleted, labels, fingerprint, body } = parameters;
  const m = tableName(table);
  const content = [deleted, labels, fingerprint, body, ...columnParameters(table)];
  if (type === 'C') {
    const guard = table.namespaced ? ` AND platform.namespace_exists(${value(namespace)}, ${revision})` : '';
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
    return `UPDATE ${m} m SET rev = ${revision}, ${assigned} FROM ${from} WHERE ${key} AND ${where} RETURNING m.rev`;
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

/** The rows of the change log. The size counts bodies and computed keys. */
export function selectChanges(rows: LoggedRows): string {
  const { table, value, revision, from, type, batch, old, hasKeys } = rows;
  const { namespace, name, body, fingerprint, oldKeys, newKeys } = parameters;
  const before = old === undefined ? 'NULL, NULL, NULL' : `${old}.found, ${old}.old_body, ${old}.old_fingerprint`;
  const keys = table.computed === undefined ? [] : [value(oldKeys), value(newKeys)];
  const optional = [...(old === undefined ? [] : [`${old}.old_body`]), ...keys];
  const size = [`octet_length(${value(body)})`, ...optional.map((text) => `coalesce(octet_length(${text}), 0)`)];
  const logged = hasKeys && keys.length === 0 ? ['NULL::text', 'NULL::text'] : keys;
  return (
    `SELECT ${revision}, ${size.join(' + ')}, ${table.id}, ${type}, ${value(namespace)}, ${value(name)}, ${before}, ` +
    `${[value(body), value(fingerprint), batch, ...logged].join(', ')} FROM ${from}`
  );
}

export function insertChanges(changes: string, hasKeys: boolean): string {
  return `logged AS (INSERT INTO platform.change_log (rev, size, model, type, namespace, name, prev, old, old_fingerprint, new, new_fingerprint, batch${hasKeys ? ', old_keys, new_keys' : ''}) ${changes} RETURNING rev)`;
}

export function notifyReplicas(origin: string, from: string): string {
  return `notified AS MATERIALIZED (SELECT pg_notify('${changesChannel}', ${origin}) FROM ${from})`;
}
