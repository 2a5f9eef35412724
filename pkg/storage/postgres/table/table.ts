import { isComputedIndex, type ComputedIndex, type GroupResource, type IndexDefinition } from '#pkg/apimachinery/index';

/** The column that holds the keys of one declared index. */
export interface Column {
  /** For example `i_3`; never reused for another index of the model. */
  name: string;
  index: IndexDefinition;
  /** `dropping`: the index is no longer declared, but its column still exists. */
  state: 'ready' | 'building' | 'failed' | 'dropping';
  message?: string;
  /** Only for computed keys: the log has the keys of every change after this revision, before and after the change. */
  since?: number;
}

/** The table of one model, at one shape. */
export interface Table {
  id: number;
  resource: GroupResource;
  namespaced: boolean;
  /** Increases with every change that writers must know. */
  shape: number;
  /** History under this name up to this revision belongs to a model dropped before; 0 if there was none. */
  replaces: number;
  /** Does the index on labels contain the owners of every object? */
  ownersIndexed: boolean;
  /** Are its objects limited in some namespace? */
  limited: boolean;
  /** Has it a column for managed fields? An earlier release creates tables without it. */
  hasManaged: boolean;
  /** Declared indexes without those being dropped. */
  columns: Column[];
  /** Columns with computed keys; undefined, and never empty, for most tables. */
  computed: ComputedColumn[] | undefined;
}

export type ComputedColumn = Column & { index: ComputedIndex };

export function computedColumns(columns: readonly Column[]): ComputedColumn[] | undefined {
  const computed = columns.filter((column): column is ComputedColumn => isComputedIndex(column.index));
  return computed.length === 0 ? undefined : computed;
}

/**
 * Percent of a page that new rows fill. A row has at most 2 kB outside of TOAST, a quarter of a page, so a new version of
 * any row finds room next to the old one, and no index changes.
 */
export const fillFactor = 75;

/** Schema-qualified name; safe to put into SQL. */
export function tableName(table: Pick<Table, 'id'>): string {
  return `platform.m_${table.id}`;
}

/** Name of a column's ordering or GIN index, or of the constraint behind `unique`. */
export function indexName(table: Pick<Table, 'id'>, column: string, kind: 'order' | 'unique' = 'order'): string {
  return kind === 'unique' ? `m_${table.id}_${column}_unique` : `m_${table.id}_${column}`;
}

/** Element type of a column, as PostgreSQL calls it. */
export function sqlType(index: Pick<IndexDefinition, 'type'>): string {
  return sqlTypes[index.type];
}

const sqlTypes = {
  string: 'text',
  integer: 'bigint',
  number: 'double precision',
  boolean: 'boolean',
  date: 'timestamptz',
} as const;

const builtinColumns = new Map([
  ['metadata.name', 'name'],
  ['metadata.namespace', 'namespace'],
  ['metadata.creationTimestamp', 'created'],
  ['metadata.deletionTimestamp', 'deleted'],
]);

/** The column a selector or a sort key reads; undefined for an index this table does not have. */
export function columnOf(table: Table, index: IndexDefinition): Pick<Column, 'name' | 'state' | 'message'> | undefined {
  const builtin = builtinColumns.get(index.name);
  if (builtin !== undefined) return { name: builtin, state: 'ready' };
  // An index with another function is another index: a definition may be ahead of its table, or behind it.
  return table.columns.find(
    (column) => column.index.name === index.name && column.index.computed?.id === index.computed?.id,
  );
}

/** The model of quotas. Its objects are under no limit: their status, which tells what is used, must always be written. */
export const quotaResource = { group: '', resource: 'resourcequotas' };

export function isNamespaceTable({ resource }: Pick<Table, 'resource'>): boolean {
  return resource.group === '' && resource.resource === 'namespaces';
}
