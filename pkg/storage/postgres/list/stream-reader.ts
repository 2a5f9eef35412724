import type { Pool } from 'pg';
import { storedLength } from '../../body.ts';
import type { ObjectStream, StoredObject, StreamQuery } from '../../store.ts';
import type { LargeReads } from '../connection/large-reads.ts';
import {
  compileList,
  hasRowBody,
  objectColumns,
  storedObject,
  type BriefRow,
  type CompiledList,
} from './list-query.ts';
import { cursorColumns, ObjectCursor, pieceBytes } from './object-cursor.ts';
import { orderBy } from './query-compiler.ts';
import type { Snapshots } from './snapshots.ts';
import type { Table } from '../table/table.ts';

/** A list up to this size is read at once, and holds no snapshot while the client reads it. Objects, bytes. */
const short = { count: 100, bytes: 512 * 1024 };

interface FirstRow extends BriefRow {
  revision: string;
}

/** Reads whole lists of any length in constant memory. */
export class StreamReader {
  readonly #reads: Pool;
  readonly #snapshots: Snapshots;
  readonly #large: LargeReads;

  constructor({ reads, snapshots, large }: { reads: Pool; snapshots: Snapshots; large: LargeReads }) {
    this.#reads = reads;
    this.#snapshots = snapshots;
    this.#large = large;
  }

  async read(table: Table, query: StreamQuery): Promise<ObjectStream> {
    return (await this.#short(table, query)) ?? this.#long(table, query);
  }

  async #short(table: Table, query: StreamQuery): Promise<ObjectStream | undefined> {
    const list = compileList(table, query, 'ordered');
    const { rows } = await this.#reads.query<FirstRow>(
      `WITH found AS MATERIALIZED (${selectText(list, query, objectColumns(table))} LIMIT ${short.count + 1}) SELECT h.revision, r.* FROM (SELECT max(rev) AS revision FROM platform.change_log) h ` +
        `LEFT JOIN (SELECT namespace, name, rev, fingerprint, managed, CASE WHEN sum(octet_length(body) + coalesce(octet_length(managed), 0)) OVER () <= ${short.bytes} AND count(*) OVER () <= ${short.count} THEN body END AS body FROM found) r ON true`,
      list.parameters.values,
    );
    const found = rows.filter((row) => row.rev !== null);
    const complete = found.filter(hasRowBody);
    if (complete.length < found.length) return undefined;
    const objects = complete.map(storedObject);
    query.readBudget?.reportHeld(objects.reduce((sum, object) => sum + storedLength(object), 0));
    return { revision: Number(rows[0]!.revision), objects: once(objects), close: async () => {} };
  }

  async #long(table: Table, query: StreamQuery): Promise<ObjectStream> {
    const list = compileList(table, query, 'ordered');
    await query.readBudget?.admit(pieceBytes);
    const snapshot = await this.#snapshots.begin(query.readBudget?.owner);
    const cursor = await ObjectCursor.open(
      { snapshot, table, large: this.#large },
      { text: selectText(list, query, cursorColumns(table)), values: list.parameters.values },
    );
    try {
      const { rows } = await snapshot.client.query<{ revision: string }>(
        'SELECT max(rev) AS revision FROM platform.change_log',
      );
      return {
        revision: Number(rows[0]!.revision),
        objects: cursor.objects(query.readBudget),
        close: () => cursor.close(),
      };
    } catch (error) {
      await cursor.close();
      throw error;
    }
  }
}

function selectText(list: CompiledList, query: StreamQuery, columns: string): string {
  const order = query.order === 'revision' ? 't.rev' : orderBy(list.order);
  return `SELECT ${columns} FROM ${list.from} WHERE ${list.where} ORDER BY ${order}`;
}

async function* once(objects: StoredObject[]): AsyncGenerator<StoredObject[]> {
  if (objects.length > 0) yield objects;
}
