import { arrayLiteral, toSqlArray, toSqlValue } from '../table/sql-value.ts';
import { sqlType, type Table } from '../table/table.ts';
import type { BatchOperation } from './batch-operation.ts';

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
  oldKeys: { column: 'old_keys', type: 'text', value: ({ operation }) => operation.computed?.oldText ?? null },
  newKeys: { column: 'new_keys', type: 'text', value: ({ operation }) => operation.computed?.text ?? null },
  isFenced: { column: 'fenced', type: 'boolean', value: ({ operation }) => operation.fence !== undefined },
  fenceNamespace: { column: 'fence_namespace', type: 'text', value: ({ operation }) => operation.fence?.namespace },
  fenceLease: { column: 'fence_lease', type: 'text', value: ({ operation }) => operation.fence?.lease },
  fenceTransitions: {
    column: 'fence_transitions',
    type: 'int',
    value: ({ operation }) => operation.fence?.transitions,
  },
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
