import type { Pool } from 'pg';
import { ownerUidIndex, type GroupResource, type ObjectKey } from '#pkg/apimachinery/index';
import type { ChangeFeed } from '../change.ts';
import type { ReadBudget } from '../read-budget.ts';
import { StorageError } from '../storage-error.ts';
import type {
  ChunkQuery,
  ObjectChunk,
  ObjectPage,
  ObjectReader,
  ObjectStream,
  PageQuery,
  StoredObject,
  StreamQuery,
} from '../store.ts';
import { isStaleTable } from './connection/database-failure.ts';
import type { LargeReads } from './connection/large-reads.ts';
import { translateError } from './connection/translate-error.ts';
import { KeyReader } from './index/key-reader.ts';
import { ChunkReader } from './list/chunk-reader.ts';
import { MatchBounds } from './list/match-bounds.ts';
import { ObjectCounter } from './list/object-counter.ts';
import { PageReader } from './list/page-reader.ts';
import { Snapshots } from './list/snapshots.ts';
import { StreamReader } from './list/stream-reader.ts';
import type { TableCatalog } from './table/table-catalog.ts';
import type { Table } from './table/table.ts';

export interface ObjectReaderOptions {
  reads: Pool;
  /** For long lists. */
  snapshots: Pool;
  /** Of the same server. */
  catalog: TableCatalog;
  feed: ChangeFeed;
  large: LargeReads;
  /** A replica of an earlier release has created a table, which lacks this. */
  onOldTable: (lacks: 'managed' | 'owners') => void;
}

/** Reads objects from one server of PostgreSQL. */
export class PostgresObjectReader implements ObjectReader {
  readonly keys: KeyReader;
  readonly #catalog: TableCatalog;
  readonly #counter: ObjectCounter;
  readonly #bounds: MatchBounds;
  readonly #pages: PageReader;
  readonly #chunks: ChunkReader;
  readonly #streams: StreamReader;
  readonly #onOldTable: ObjectReaderOptions['onOldTable'];

  constructor({ reads, snapshots: pool, catalog, feed, large, onOldTable }: ObjectReaderOptions) {
    this.#catalog = catalog;
    this.#onOldTable = onOldTable;
    this.keys = new KeyReader(reads, large);
    this.#counter = new ObjectCounter(reads, feed);
    this.#bounds = new MatchBounds(feed);
    const snapshots = new Snapshots(pool);
    const lists = { pool: reads, counter: this.#counter, bounds: this.#bounds, large };
    this.#pages = new PageReader({ ...lists, snapshots });
    this.#chunks = new ChunkReader(lists);
    this.#streams = new StreamReader({ reads, snapshots, large });
  }

  get(resource: GroupResource, key: ObjectKey, readBudget?: ReadBudget): Promise<StoredObject | undefined> {
    return this.#onTable(resource, (table) => this.keys.get(table, key, readBudget));
  }

  page(resource: GroupResource, query: PageQuery): Promise<ObjectPage> {
    return this.#onTable(resource, (table) => this.#pages.read(table, query));
  }

  chunk(resource: GroupResource, query: ChunkQuery): Promise<ObjectChunk> {
    return this.#onTable(resource, (table) => this.#chunks.read(table, query));
  }

  stream(resource: GroupResource, query: StreamQuery): Promise<ObjectStream> {
    return this.#onTable(resource, (table) => this.#streams.read(table, query));
  }

  async tableOf(resource: GroupResource): Promise<Table> {
    const table = await this.#catalog.get(resource);
    if (!table.hasManaged) this.#onOldTable('managed');
    return table;
  }

  /** Drops the counts of a dropped model. */
  forget(tableId: number): void {
    this.#counter.forget(tableId);
  }

  forgetAll(): void {
    this.#counter.forgetAll();
    this.#bounds.forgetAll();
  }

  close(): void {
    this.#counter.close();
    this.#bounds.close();
  }

  /** Runs a read; tries once more with the current table if the cached one is outdated. */
  async #onTable<T>(resource: GroupResource, read: (table: Table) => Promise<T>): Promise<T> {
    try {
      return await read(await this.tableOf(resource));
    } catch (error) {
      if (!isStaleTable(error) && !isNotReady(error)) throw translateError(error);
    }
    this.#catalog.forget(resource);
    try {
      return await read(await this.tableOf(resource));
    } catch (error) {
      if (isNotReady(error) && error.index === ownerUidIndex.name) this.#onOldTable('owners');
      throw translateError(error);
    }
  }
}

/** An index may have become ready since the table was cached. */
function isNotReady(error: unknown): error is StorageError {
  return error instanceof StorageError && error.code === 'IndexNotReady';
}
