import { apiGroupOf, equalJson, type JsonValue } from '#pkg/apimachinery/index';
import type { PresetRecord } from '#pkg/apis/index';

/**
 * The inventory could not be stored, which ends the whole run, not only one preset. `cause` is the error to rethrow.
 */
export class InventoryNotStored extends Error {
  constructor(cause: unknown) {
    super('the inventory could not be stored', { cause });
    this.name = 'InventoryNotStored';
  }
}

/** The stored inventory of a plugin's presets: this copy changes only after the stored one. */
export class Inventory {
  readonly #store: (records: PresetRecord[]) => Promise<void>;
  /** By identity. */
  #records: ReadonlyMap<string, PresetRecord>;

  /** @param records as stored @param store must throw if another process has changed them meanwhile */
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

  /** Moves these records to the front, in this order. */
  async lead(records: readonly PresetRecord[]): Promise<void> {
    const leading = byIdentity(records);
    const others = [...this.#records].filter(([identity]) => !leading.has(identity));
    await this.#replace(new Map([...leading, ...others]));
  }

  /** Replaces existing records in place, and appends new ones. */
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
  return equalJson(a as JsonValue, (b ?? null) as JsonValue);
}

/** Without the version: an object has the same identity in all versions. */
export function identityOf({ apiVersion, kind, namespace = '', name }: PresetRecord): string {
  return JSON.stringify([apiGroupOf(apiVersion), kind, namespace, name]);
}
