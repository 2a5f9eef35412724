import { apiGroupOf, isSameJson, type JsonValue } from '#pkg/apimachinery/index';
import type { PresetRecord } from '#pkg/apis/index';

/**
 * That the inventory could not be stored ends everything: it is no failure of one preset. `cause` is what is to be
 * thrown on.
 */
export class InventoryNotStored extends Error {
  constructor(cause: unknown) {
    super('the inventory could not be stored', { cause });
    this.name = 'InventoryNotStored';
  }
}

/** What a plugin shipped, as it is stored: nothing is changed here that is not stored by then. */
export class Inventory {
  readonly #store: (records: PresetRecord[]) => Promise<void>;
  /** By identity. */
  #records: ReadonlyMap<string, PresetRecord>;

  /** @param records as stored @param store must refuse where they were changed by somebody else meanwhile */
  constructor(records: readonly PresetRecord[], store: (records: PresetRecord[]) => Promise<void>) {
    this.#records = byIdentity(records);
    this.#store = store;
  }

  get records(): readonly PresetRecord[] {
    return [...this.#records.values()];
  }

  find(record: PresetRecord): PresetRecord | undefined {
    return this.#records.get(identityOf(record));
  }

  /** Makes these the first, in this order; the others stay, behind them. */
  async lead(records: readonly PresetRecord[]): Promise<void> {
    const leading = byIdentity(records);
    const others = [...this.#records].filter(([identity]) => !leading.has(identity));
    await this.#replace(new Map([...leading, ...others]));
  }

  /** Each in its place where it is there, and behind the others where it is not. */
  async put(...records: PresetRecord[]): Promise<void> {
    const changed = records.filter((record) => !isSame(record, this.find(record)));
    if (changed.length > 0) await this.#replace(new Map([...this.#records, ...byIdentity(changed)]));
  }

  async drop(records: readonly PresetRecord[]): Promise<void> {
    const named = byIdentity(records);
    await this.#replace(new Map([...this.#records].filter(([identity]) => !named.has(identity))));
  }

  async #replace(records: ReadonlyMap<string, PresetRecord>): Promise<void> {
    if (isSame([...records.values()], this.records)) return;
    try {
      await this.#store(structuredClone([...records.values()]));
    } catch (error) {
      throw new InventoryNotStored(error);
    }
    this.#records = records;
  }
}

function byIdentity(records: readonly PresetRecord[]): ReadonlyMap<string, PresetRecord> {
  return new Map(records.map((record) => [identityOf(record), record]));
}

function isSame(a: unknown, b: unknown): boolean {
  return isSameJson(a as JsonValue, (b ?? null) as JsonValue);
}

/** Whatever the version: an object is the same in all of them. */
export function identityOf({ apiVersion, kind, namespace = '', name }: PresetRecord): string {
  return JSON.stringify([apiGroupOf(apiVersion), kind, namespace, name]);
}
