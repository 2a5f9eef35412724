import type { ObjectKey } from '#pkg/apimachinery/index';
import { storedLength } from '../../body.ts';
import type { Change, ChangeFeed } from '../../change.ts';
import type { StoredObject } from '../../store.ts';
import type { Table } from '../table/table.ts';

/** Characters of all objects together, and of one. */
const maxLength = 8 << 20;
const maxObjectLength = 64 << 10;

/**
 * The objects that changed last, as the change feed delivered them. Whoever writes an object that was written just
 * before need not read it: the write is a Conflict if the object is newer.
 */
export class RecentObjects {
  readonly #unsubscribe: () => void;
  /** The object that changed last is at the end. */
  readonly #objects = new Map<string, StoredObject>();
  #length = 0;

  constructor(feed: Pick<ChangeFeed, 'subscribe'>) {
    this.#unsubscribe = feed.subscribe((changes) => {
      for (const change of changes) this.#take(change);
    });
  }

  close(): void {
    this.#unsubscribe();
    this.forgetAll();
  }

  forgetAll(): void {
    this.#objects.clear();
    this.#length = 0;
  }

  /** Always undefined for a table with computed keys, which a write needs, too. */
  find(table: Pick<Table, 'id' | 'computed'>, { namespace, name }: ObjectKey): StoredObject | undefined {
    return table.computed === undefined ? this.#objects.get(keyOf(table.id, namespace, name)) : undefined;
  }

  #take(change: Change): void {
    const { modelId, type, namespace, name, revision, body, managed, fingerprint } = change;
    const key = keyOf(modelId, namespace, name);
    this.#forget(key);
    const length = storedLength(change);
    if (type === 'delete' || length > maxObjectLength) return;
    this.#objects.set(key, { namespace, name, revision, body, managed, fingerprint });
    this.#length += length;
    for (const oldest of this.#objects.keys()) {
      if (this.#length <= maxLength) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const object = this.#objects.get(key);
    if (object === undefined) return;
    this.#objects.delete(key);
    this.#length -= storedLength(object);
  }
}

function keyOf(modelId: number, namespace: string, name: string): string {
  return `${modelId}/${namespace}/${name}`;
}
