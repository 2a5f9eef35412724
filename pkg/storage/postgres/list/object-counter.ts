import type { Pool } from 'pg';
import type { Change, ChangeFeed } from '../../change.ts';
import { tableName, type Table } from '../table/table.ts';

/** Number of recent creations and deletions kept, so that a list can get the count at its own revision. */
const maxRecent = 16_384;
/** Maximum number of cached counts of models and namespaces; the least recently used one is dropped first. */
const maxCounts = 10_000;
/** Time for the feed to reach the database's revision of the count. Milliseconds. */
const feedTimeoutMs = 5000;

/** Number of objects of one model, in total or in one namespace. */
interface Count {
  value: number;
  /** Changes up to this revision are included. */
  asOf: number;
}

/** A creation or a deletion. */
interface Step {
  revision: number;
  modelId: number;
  namespace: string;
  by: 1 | -1;
}

/**
 * Exact totals of lists without selectors: counted once in the database, then updated from the change feed. Memory does
 * not grow with the objects, and only little with the listed namespaces.
 */
export class ObjectCounter {
  readonly #pool: Pool;
  readonly #feed: ChangeFeed;
  readonly #counting = new Map<string, Promise<void>>();
  readonly #counts = new Map<string, Count>();
  readonly #unsubscribe: () => void;
  /** Ascending; steps up to `#forgotten` are dropped. */
  #recent: Step[] = [];
  #forgotten = 0;

  constructor(pool: Pool, feed: ChangeFeed) {
    this.#pool = pool;
    this.#feed = feed;
    this.#unsubscribe = feed.subscribe((changes) => this.#follow(changes));
  }

  /** The number of objects at `revision`; undefined if that is too long ago. */
  async countAt(table: Table, namespace: string | undefined, revision: number): Promise<number | undefined> {
    const key = keyOf(table.id, namespace);
    if (!this.#counts.has(key)) await this.#load(table, namespace, key);
    const counted = this.#counts.get(key)?.asOf;
    if (counted === undefined || !(await this.#feed.waitFor(Math.max(revision, counted), feedTimeoutMs)))
      return undefined;
    const count = this.#counts.get(key);
    if (count === undefined || revision < this.#forgotten) return undefined;
    this.#counts.delete(key);
    this.#counts.set(key, count);
    return this.#before(count, revision, { modelId: table.id, namespace });
  }

  close(): void {
    this.#unsubscribe();
    this.#counts.clear();
  }

  forgetAll(): void {
    this.#counts.clear();
  }

  /** Drops the counts of a dropped model. */
  forget(tableId: number): void {
    for (const key of this.#counts.keys()) if (key.startsWith(`${tableId}/`)) this.#counts.delete(key);
  }

  /** The feed is at least at the count's revision: steps after `revision` are subtracted. */
  #before(
    { value }: Count,
    revision: number,
    { modelId, namespace }: { modelId: number; namespace: string | undefined },
  ): number {
    let before = value;
    for (let i = this.#recent.length - 1; i >= 0 && this.#recent[i]!.revision > revision; i -= 1) {
      const step = this.#recent[i]!;
      if (step.modelId === modelId && (namespace === undefined || step.namespace === namespace)) before -= step.by;
    }
    return before;
  }

  async #load(table: Table, namespace: string | undefined, key: string): Promise<void> {
    const loading = this.#counting.get(key) ?? this.#count(table, namespace, key);
    this.#counting.set(key, loading);
    try {
      await loading;
    } finally {
      if (this.#counting.get(key) === loading) this.#counting.delete(key);
    }
  }

  /** Changes that arrived while the database counted, and that the count lacks, are among the recent steps. */
  async #count({ id }: Table, namespace: string | undefined, key: string): Promise<void> {
    const { rows } = await this.#pool.query<{ revision: string; count: string }>(
      `SELECT (SELECT max(rev) FROM platform.change_log) AS revision, count(*) AS count FROM ${tableName({ id })} t` +
        (namespace === undefined ? '' : ' WHERE t.namespace = $1'),
      namespace === undefined ? [] : [namespace],
    );
    const asOf = Number(rows[0]!.revision);
    // Too many changes arrived meanwhile: the caller must count by itself.
    if (asOf < this.#forgotten) return;
    const missed = this.#recent.filter(
      (step) =>
        step.revision > asOf && step.modelId === id && (namespace === undefined || step.namespace === namespace),
    );
    this.#counts.set(key, {
      value: missed.reduce((sum, { by }) => sum + by, Number(rows[0]!.count)),
      asOf: missed.at(-1)?.revision ?? asOf,
    });
    if (this.#counts.size > maxCounts) this.#counts.delete(this.#counts.keys().next().value!);
  }

  #follow(changes: readonly Change[]): void {
    for (const { type, revision, modelId, namespace } of changes) {
      if (type === 'update') continue;
      const by = type === 'create' ? 1 : -1;
      this.#recent.push({ revision, modelId, namespace, by });
      for (const key of [keyOf(modelId, undefined), keyOf(modelId, namespace)]) {
        const count = this.#counts.get(key);
        // Skip changes that the count already includes: the feed may lag behind it.
        if (count === undefined || revision <= count.asOf) continue;
        count.value += by;
        count.asOf = revision;
      }
    }
    if (this.#recent.length > 2 * maxRecent) {
      this.#forgotten = this.#recent[this.#recent.length - maxRecent - 1]!.revision;
      this.#recent = this.#recent.slice(-maxRecent);
    }
  }
}

function keyOf(tableId: number, namespace: string | undefined): string {
  return namespace === undefined ? `${tableId}/` : `${tableId}//${namespace}`;
}
