import { extractIndexKey, extractIndexKeys, type ApiObject, type Fence, type IndexKey } from '#pkg/apimachinery/index';
import { encodeManagedFields, encodeStoredBody, storedLength, withManagedFields } from '../../body.ts';
import type { AuditRow } from '#pkg/audit/index';
import { StorageError } from '../../storage-error.ts';
import type { IdempotencyKey, StoredObject, Write, StoreWriteOptions } from '../../store.ts';
import { fenceKey, isLeaseTable } from '../table/lease-fence.ts';
import { ownerElements } from '../table/owner-elements.ts';
import type { Table } from '../table/table.ts';
import type { WriteKeys } from './write-keys.ts';

/** One write, prepared for its table at one shape. */
export interface BatchOperation {
  table: Table;
  type: 'C' | 'U' | 'D';
  namespace: string;
  name: string;
  /** The stored object that the write was computed from; undefined on create. */
  from: StoredObject | undefined;
  uid: string;
  created: string;
  deleted: string | null;
  labels: string[];
  /** One for each column of the table. */
  keys: IndexKey[];
  body: string;
  /** Managed fields as JSON, '' for none; undefined if the table has no column for them, and the body has them. */
  managed: string | undefined;
  fingerprint: string;
  idempotencyKey: IdempotencyKey | undefined;
  /** Results of the key functions; only for a table with computed columns. */
  computed: WriteKeys | undefined;
  /** The lease that the write depends on. */
  fence: Fence | undefined;
  /** What the audit log keeps of it. */
  audit: AuditRow | undefined;
  /**
   * Values that no other operation of the batch may share: the object's key, its idempotency key, and unique values
   * that it takes or releases; for a lease also its fence key.
   */
  exclusives: string[];
  /** Bytes that the operation adds to a batch. */
  size: number;
}

const operationTypes = { create: 'C', update: 'U', delete: 'D' } as const;
/** The types of changes, by their letters in the log. */
export const changeTypes = { C: 'create', U: 'update', D: 'delete' } as const;

/**
 * Throws StorageError InvalidKey where an index cannot hold the object; Conflict if the write was computed from a row that
 * was read before its table got the column for managed fields.
 */
export function toOperation(
  write: Write,
  table: Table,
  { idempotency, fence, audit }: StoreWriteOptions,
  computed?: WriteKeys,
): BatchOperation {
  const { object } = write;
  const { metadata } = object;
  const namespace = metadata.namespace ?? '';
  const from = write.type === 'create' ? undefined : write.from;
  if (table.hasManaged && from !== undefined && from.managed === undefined)
    throw new StorageError('Conflict', 'the managed fields of the object were not read');
  // Indexes and functions never prevent a write of an object that is being deleted.
  const keys = keysOf(table, object, write.type !== 'delete' && metadata.deletionTimestamp === undefined, computed);
  const text = computed?.body ?? encodeStoredBody(object);
  const managed = encodeManagedFields(object);
  const body = table.hasManaged ? text : withManagedFields(text, managed);
  const operation: BatchOperation = {
    table,
    type: operationTypes[write.type],
    namespace,
    name: metadata.name,
    from,
    uid: metadata.uid ?? '',
    created: metadata.creationTimestamp ?? '',
    deleted: metadata.deletionTimestamp ?? null,
    labels: [...labelElements(metadata.labels, namespace), ...ownerElements(object)],
    keys,
    body,
    managed: table.hasManaged ? managed : undefined,
    fingerprint: write.fingerprint,
    idempotencyKey: idempotency,
    computed,
    fence,
    audit,
    exclusives: none,
    size:
      storedLength({ body: text, managed }) +
      (from === undefined ? 0 : storedLength(from)) +
      (computed?.text?.length ?? 0) +
      (audit?.event.length ?? 0) +
      512,
  };
  operation.exclusives = exclusivesOf(operation);
  return operation;
}

const none: string[] = [];

function keysOf(table: Table, object: ApiObject, strict: boolean, computed: WriteKeys | undefined): IndexKey[] {
  const { keys, causes } = extractIndexKeys(
    table.columns.map((column) => column.index),
    object,
    computed?.keys,
  );
  if (strict && computed !== undefined) causes.push(...computed.causes);
  if (strict && causes.length > 0) throw new StorageError('InvalidKey', 'an index cannot hold the object', { causes });
  return keys;
}

/**
 * The elements of an object in the GIN index on labels, besides its owners: each key, each `key=value`, and
 * `/namespace` (no label key begins with a slash), so that one index serves a selector inside a namespace.
 */
export function labelElements(labels: Record<string, string> | undefined, namespace: string): string[] {
  const elements = [`/${namespace}`];
  for (const [key, value] of Object.entries(labels ?? {})) elements.push(key, `${key}=${value}`);
  return elements;
}

function exclusivesOf({ table, namespace, name, keys, from, idempotencyKey, computed }: BatchOperation): string[] {
  const exclusives = [`${table.id}/${namespace}/${name}`];
  if (idempotencyKey !== undefined)
    exclusives.push(
      JSON.stringify([idempotencyKey.user, idempotencyKey.method, idempotencyKey.path, idempotencyKey.key]),
    );
  if (isLeaseTable(table)) exclusives.push(fenceKey(namespace, name));
  const unique = table.columns.flatMap((column, i) => (column.index.unique ? [i] : []));
  if (unique.length === 0) return exclusives;
  const old = from === undefined ? undefined : (JSON.parse(from.body) as ApiObject);
  for (const i of unique) {
    const released = old === undefined ? null : extractIndexKey(table.columns[i]!.index, old, computed?.old);
    for (const value of new Set([keys[i], released])) {
      if (value !== null && value !== undefined) exclusives.push(`${table.id}//${i}=${String(value)}`);
    }
  }
  return exclusives;
}
