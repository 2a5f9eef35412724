import type { Pool } from 'pg';
import { formatGroupResource, type GroupResource } from '#pkg/apimachinery/index';
import { StorageError } from '../../storage-error.ts';
import { computedColumns, type Column, type Table } from './table.ts';

export interface ModelRow {
  id: number;
  api_group: string;
  resource: string;
  namespaced: boolean;
  shape: number;
  replaces: string;
  columns_made: number;
  owners_indexed: boolean;
  limited: boolean;
  has_managed: boolean;
  columns: Column[];
}

export const selectModel =
  'SELECT id, api_group, resource, namespaced, shape, replaces, columns_made, owners_indexed, limited, has_managed, columns FROM platform.models WHERE api_group = $1 AND resource = $2';

/**
 * Cache of the table of each model. A stale entry is harmless: a write carries the shape it was built for and is
 * rejected under a newer one, and a read of a dropped table fails. In both cases the entry is dropped and read again.
 */
export class TableCatalog {
  readonly #pool: Pool;
  readonly #tables = new Map<string, Promise<Table | undefined>>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** StorageError ModelNotFound if no replica has created this model. */
  async get(resource: GroupResource): Promise<Table> {
    const table = await this.find(resource);
    if (table === undefined)
      throw new StorageError('ModelNotFound', `model ${formatGroupResource(resource)} does not exist`);
    return table;
  }

  async find(resource: GroupResource): Promise<Table | undefined> {
    const key = formatGroupResource(resource);
    const known = this.#tables.get(key);
    if (known !== undefined) return known;
    const loading = this.#load(resource);
    this.#tables.set(key, loading);
    try {
      const table = await loading;
      if (table === undefined) this.#drop(key, loading);
      return table;
    } catch (error) {
      this.#drop(key, loading);
      throw error;
    }
  }

  /** The next `get` reads the database. */
  forget(resource: GroupResource): void {
    this.#tables.delete(formatGroupResource(resource));
  }

  forgetAll(): void {
    this.#tables.clear();
  }

  async #load(resource: GroupResource): Promise<Table | undefined> {
    const { rows } = await this.#pool.query<ModelRow>({
      name: 'model',
      text: selectModel,
      values: [resource.group, resource.resource],
    });
    const row = rows[0];
    if (row === undefined) return undefined;
    return tableFromRow(row);
  }

  #drop(key: string, loading: Promise<Table | undefined>): void {
    if (this.#tables.get(key) === loading) this.#tables.delete(key);
  }
}

export function tableFromRow(row: ModelRow): Table {
  const columns = row.columns.filter((column) => column.state !== 'dropping');
  return {
    id: row.id,
    resource: { group: row.api_group, resource: row.resource },
    namespaced: row.namespaced,
    shape: row.shape,
    replaces: Number(row.replaces),
    ownersIndexed: row.owners_indexed,
    limited: row.limited,
    hasManaged: row.has_managed,
    columns,
    computed: computedColumns(columns),
  };
}
