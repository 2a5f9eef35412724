import { BackupError } from './backup-error.ts';

/**
 * The definition of a runtime table. It comes from a file that anyone may have written: call `checkShape` before any
 * part of it is used in SQL.
 */
export interface TableShape {
  readonly columns: readonly ColumnShape[];
  readonly primaryKey?: { readonly name: string; readonly columns: readonly string[] };
  readonly indexes: readonly IndexShape[];
  readonly triggers: readonly string[];
  /** Percent. */
  readonly fillfactor?: number;
}

export interface ColumnShape {
  readonly name: string;
  readonly type: string;
  readonly isNotNull: boolean;
  /** Collated as `C` instead of the database's default. */
  readonly isBytewise: boolean;
  /** An array with an empty default. */
  readonly isEmptyByDefault: boolean;
}

export interface IndexShape {
  readonly name: string;
  readonly isUnique: boolean;
  readonly method: 'btree' | 'gin';
  readonly columns: readonly {
    readonly name: string;
    readonly isDescending: boolean;
    readonly isNullsFirst: boolean;
  }[];
  /** GIN only. */
  readonly fastupdate?: boolean;
}

const scalars = [
  'text',
  'bigint',
  'integer',
  'boolean',
  'double precision',
  'timestamp with time zone',
  'uuid',
  'jsonb',
  'bytea',
];
const columnTypes: ReadonlySet<string> = new Set(scalars.flatMap((type) => [type, `${type}[]`]));
const identifier = /^[a-z][a-z0-9_]{0,62}$/;
/** PostgreSQL's own limit. */
const maxColumns = 1600;
const maxIndexes = 3300;

/** Throws BackupError for a shape that no table of this program has. */
export function checkShape(value: unknown, table: string, triggers: readonly string[]): TableShape {
  const fail = (what: string): never => {
    throw new BackupError(`The backup describes table ${table} in a form that this program never writes: ${what}.`);
  };
  const names = (list: unknown, what: string, known?: ReadonlySet<string>): string[] => {
    if (!Array.isArray(list) || list.length === 0 || list.length > maxColumns) return fail(what);
    for (const name of list)
      if (typeof name !== 'string' || !identifier.test(name) || (known !== undefined && !known.has(name)))
        return fail(what);
    return list as string[];
  };
  const shape = value as Partial<TableShape> | null;
  if (typeof shape !== 'object' || shape === null) return fail('not a description');
  const { columns, primaryKey, indexes, fillfactor } = shape;
  if (!Array.isArray(columns) || columns.length === 0 || columns.length > maxColumns) return fail('its columns');
  if (!columns.every(isColumn)) return fail('a column');
  const known = new Set(columns.map(({ name }) => name));
  if (known.size !== columns.length) return fail('two columns of one name');
  if (primaryKey !== undefined) names([(primaryKey as { name?: unknown } | null)?.name], 'its primary key');
  if (primaryKey !== undefined) names(primaryKey.columns, 'its primary key', known);
  if (!Array.isArray(indexes) || indexes.length > maxIndexes || !indexes.every((index) => isIndex(index, known)))
    return fail('an index');
  if (!Array.isArray(shape.triggers) || !shape.triggers.every((name) => triggers.includes(name as string)))
    return fail('a trigger');
  if (fillfactor !== undefined && !(Number.isInteger(fillfactor) && fillfactor >= 10 && fillfactor <= 100))
    return fail('its fillfactor');
  return shape as TableShape;
}

function isColumn(value: unknown): value is ColumnShape {
  const { name, type, isNotNull, isBytewise, isEmptyByDefault } = (value ?? {}) as Partial<ColumnShape>;
  if (typeof name !== 'string' || !identifier.test(name) || typeof type !== 'string' || !columnTypes.has(type))
    return false;
  if (![isNotNull, isBytewise, isEmptyByDefault].every((flag) => typeof flag === 'boolean')) return false;
  return (isBytewise !== true || type.startsWith('text')) && (isEmptyByDefault !== true || type.endsWith('[]'));
}

function isIndex(value: unknown, known: ReadonlySet<string>): value is IndexShape {
  const { name, isUnique, method, columns, fastupdate } = (value ?? {}) as Partial<IndexShape>;
  if (
    typeof name !== 'string' ||
    !identifier.test(name) ||
    typeof isUnique !== 'boolean' ||
    (method !== 'btree' && method !== 'gin')
  )
    return false;
  if (fastupdate !== undefined && (typeof fastupdate !== 'boolean' || method !== 'gin')) return false;
  if (!Array.isArray(columns) || columns.length === 0 || columns.length > 32) return false;
  return columns.every((column: unknown) => {
    const { name: of, isDescending, isNullsFirst } = (column ?? {}) as Partial<IndexShape['columns'][number]>;
    return (
      typeof of === 'string' &&
      known.has(of) &&
      typeof isDescending === 'boolean' &&
      typeof isNullsFirst === 'boolean' &&
      (method === 'btree' || !(isDescending || isNullsFirst))
    );
  });
}

/**
 * Creates the table without keys and indexes: creating those is fastest after the rows are inserted. `table` is quoted.
 */
export function createTableText(table: string, { columns, fillfactor }: TableShape): string {
  const definitions = columns.map(
    ({ name, type, isNotNull, isBytewise, isEmptyByDefault }) =>
      `${quoteIdentifier(name)} ${type}${isBytewise ? ' COLLATE "C"' : ''}${isNotNull ? ' NOT NULL' : ''}${isEmptyByDefault ? " DEFAULT '{}'" : ''}`,
  );
  return `CREATE TABLE ${table} (${definitions.join(', ')})${fillfactor === undefined ? '' : ` WITH (fillfactor = ${fillfactor})`}`;
}

/** One statement per index. */
export function tableIndexStatements(table: string, { primaryKey, indexes }: TableShape): string[] {
  const key =
    primaryKey === undefined
      ? []
      : [
          `ALTER TABLE ${table} ADD CONSTRAINT ${quoteIdentifier(primaryKey.name)} PRIMARY KEY (${primaryKey.columns.map(quoteIdentifier).join(', ')})`,
        ];
  return [
    ...key,
    ...indexes.map(({ name, isUnique, method, columns, fastupdate }) => {
      const order = columns.map(
        (column) =>
          `${quoteIdentifier(column.name)}${column.isDescending ? ' DESC' : ''}${method === 'gin' ? '' : column.isNullsFirst ? ' NULLS FIRST' : ' NULLS LAST'}`,
      );
      const options = fastupdate === undefined ? '' : ` WITH (fastupdate = ${fastupdate ? 'on' : 'off'})`;
      return `CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX ${quoteIdentifier(name)} ON ${table} USING ${method} (${order.join(', ')})${options}`;
    }),
  ];
}

/** A table with its schema, for checked names. */
export function quoteTable(schema: string, table: string): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`;
}

/** For checked names: none contains a quote. */
export function quoteIdentifier(name: string): string {
  return `"${name}"`;
}
