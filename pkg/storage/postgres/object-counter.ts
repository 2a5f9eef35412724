import type { Pool } from 'pg';
import type { Change, ChangeFeed } from '../change.ts';
import { tableName, type Table } from './table.ts';

/** Recent counts kept, so that a list may ask for the count at its own revision. */
const maxHistory = 4096;
/** Models and namespaces counted at a time; the longest known is forgotten first. */
const maxCounts = 10_000;

/** Objects of one model, in all or in one namespace, at every recent revision. */
interface Count {
  /** Ascending; `counts[i]` holds from `revisions[i]` on. */
  revisions: number[];
  counts: number[];
}

/**
 * Exact totals of lists without selectors: counted once in the database, then carried on with the change feed.
 */
export class ObjectCounter {
  readonly #pool: Pool;
  readonly #feed: ChangeFeed;
  readonly #counts = new Map<string, Promise<Count>>();
  readonly #ready = new Map<string, Count>();
  readonly #unsubscribe: () => void;

  constructor(pool: Pool, feed: ChangeFeed) {
    this.#pool = pool;
    this.#feed = feed;
    this.#unsubscribe = feed.subscribe((changes) => this.#follow(changes));
  }

  /** How many objects there are at `revision`; undefined if that is too long ago to tell. */
  async countAt(table: Table, namespace: string | undefined, revision: number): Promise<number | undefined> {
    const key = keyOf(table.id, namespace);
    const count = this.#ready.get(key) ?? (await this.#load(table, namespace, key));
    if (!(await this.#feed.waitFor(revision, 5000))) return undefined;
    const at = count.revisions.findLastIndex((known) => known <= revision);
    return count.counts[at];
  }

  close(): void {
    this.#unsubscribe();
    this.#counts.clear();
    this.#ready.clear();
  }

  /** A dropped model's counts. */
  forget(tableId: number): void {
    for (const key of this.#counts.keys()) if (key.startsWith(`${tableId}/`)) this.#counts.delete(key);
    for (const key of this.#ready.keys()) if (key.startsWith(`${tableId}/`)) this.#ready.delete(key);
  }

  async #load(table: Table, namespace: string | undefined, key: string): Promise<Count> {
    const loading = this.#counts.get(key) ?? this.#count(table, namespace, key);
    this.#counts.set(key, loading);
    try {
      return await loading;
    } finally {
      if (this.#counts.get(key) === loading) this.#counts.delete(key);
    }
  }

  /** What happens while the database counts is gathered and applied to the result, so that no change falls between. */
  async #count(table: Table, namespace: string | undefined, key: string): Promise<Count> {
    const missed: Change[] = [];
    const stop = this.#feed.subscribe((changes) => missed.push(...changes.filter(({ modelId, type }) => modelId === table.id && type !== 'update')));
    try {
      const { rows } = await this.#pool.query<{ revision: string; count: string }>(
        `SELECT (SELECT max(rev) FROM platform.change_log) AS revision, count(*) AS count FROM ${tableName(table)} t` + (namespace === undefined ? '' : ' WHERE t.namespace = $1'),
        namespace === undefined ? [] : [namespace],
      );
      const revision = Number(rows[0]!.revision);
      await this.#feed.waitFor(revision, 5000);
      const count: Count = { revisions: [revision], counts: [Number(rows[0]!.count)] };
      for (const change of missed) if (change.revision > revision) apply(count, change, table.id, namespace);
      this.#keep(key, count);
      return count;
    } finally {
      stop();
    }
  }

  #keep(key: string, count: Count): void {
    this.#ready.set(key, count);
    if (this.#ready.size > maxCounts) this.#ready.delete(this.#ready.keys().next().value!);
  }

  #follow(changes: readonly Change[]): void {
    if (this.#ready.size === 0) return;
    for (const change of changes) {
      if (change.type === 'update') continue;
      for (const namespace of [undefined, change.namespace]) {
        const count = this.#ready.get(keyOf(change.modelId, namespace));
        if (count !== undefined) apply(count, change, change.modelId, namespace);
      }
    }
  }
}

function apply(count: Count, change: Change, tableId: number, namespace: string | undefined): void {
  // What the count already holds is told again by a feed that lagged behind it.
  if (change.revision <= count.revisions.at(-1)!) return;
  if (change.modelId !== tableId || change.type === 'update' || (namespace !== undefined && change.namespace !== namespace)) return;
  count.revisions.push(change.revision);
  count.counts.push(count.counts.at(-1)! + (change.type === 'create' ? 1 : -1));
  if (count.revisions.length > 2 * maxHistory) {
    count.revisions.splice(0, maxHistory);
    count.counts.splice(0, maxHistory);
  }
}

function keyOf(tableId: number, namespace: string | undefined): string {
  return namespace === undefined ? `${tableId}/` : `${tableId}//${namespace}`;
}
