import type { Client } from '#pkg/apimachinery/index';
import type { PresetRecord } from '#pkg/apis/index';
import type { Log } from '#pkg/runtime/index';
import { ApplyRun } from './apply-run.ts';
import { identityOf, Inventory, InventoryNotStored } from './inventory.ts';
import { planPresets, shippedDefinitions, type PlannedPreset } from './plan-presets.ts';
import { isDefinitionKind, isNamespaceKind, PresetKinds } from './preset-kinds.ts';
import type { PresetObject } from './preset-object.ts';
import { RemovalRun, type LeftPreset } from './removal-run.ts';

export interface PresetReconcilerOptions {
  /** Of the plugin, with the fence of who leads; not a cached one. */
  client: Client;
  log: Log;
  /**
   * How long a start waits for what is being deleted to be gone, and for a definition to be served. Milliseconds,
   * default 30 000.
   */
  waitMs?: number;
  /** How long a start waits for dropped presets to be gone, before it goes on without. Milliseconds, default 10 000. */
  droppedMs?: number;
}

interface PresetWork {
  /** The plugin's name. */
  plugin: string;
  /** As it is stored: `Plugin.status.presets`. */
  inventory: readonly PresetRecord[];
  /**
   * Stores the inventory; called before what it says is done. It must throw where the stored one is no longer what
   * `inventory` was read from, or was stored by the last call: else a leader that was deposed makes the next one
   * forget.
   */
  record: (inventory: PresetRecord[]) => Promise<void>;
  signal: AbortSignal;
}

export interface ApplyPresets extends PresetWork {
  presets: readonly PresetObject[];
  /** Names of the definitions that the plugin registers itself: one that was a preset before is left to that. */
  models?: readonly string[];
}

export interface RemovePresets extends PresetWork {
  /** For everything. */
  timeoutMs: number;
}

/**
 * Makes the objects that a plugin ships, and takes them away again. The inventory is written ahead: whatever is
 * interrupted, wherever, is finished by the same call made again with the inventory that is stored by then. What is a
 * person's is never deleted, and what another plugin's never touched.
 */
export class PresetReconciler {
  readonly #options: Required<PresetReconcilerOptions>;

  constructor(options: PresetReconcilerOptions) {
    this.#options = { waitMs: 30_000, droppedMs: 10_000, ...options };
  }

  /**
   * A start: creates and updates what is shipped, and removes what is shipped no more; answers the objects that were
   * there before, and a person's.
   * @throws PluginError PresetsInvalid, PresetKindUnknown and PresetTaken before anything is written; PresetRefused,
   * PresetTerminating and PresetTaken amidst; StatusError for what may pass, and for a lost fence; what `record` throws
   */
  apply(work: ApplyPresets): Promise<{ adopted: PresetRecord[] }> {
    return throughInventory(() => this.#apply(work));
  }

  /**
   * A stop: removes what the inventory says, by the rules, and waits until it is gone; what is left when the time is
   * over is answered, and stays in the inventory.
   * @throws StatusError when the signal fires, the fence is lost, or the definitions cannot be listed; what `record`
   * throws
   */
  async remove({
    plugin,
    inventory: records,
    record,
    signal,
    timeoutMs,
  }: RemovePresets): Promise<{ left: LeftPreset[] }> {
    if (records.length === 0) return { left: [] };
    const kinds = await PresetKinds.load(this.#options.client, [], signal);
    const inventory = new Inventory(records, record);
    return throughInventory(async () => ({
      left: await this.#remove({ plugin, kinds, models: [], records, inventory, timeoutMs, signal }),
    }));
  }

  async #apply({
    plugin,
    presets,
    models = [],
    record,
    signal,
    ...work
  }: ApplyPresets): Promise<{ adopted: PresetRecord[] }> {
    if (presets.length === 0 && work.inventory.length === 0) return { adopted: [] };
    const { client, log, waitMs, droppedMs } = this.#options;
    const kinds = await PresetKinds.load(client, shippedDefinitions(presets, models), signal);
    const planned = planPresets(presets, kinds);
    const inventory = new Inventory(work.inventory, record);
    const run = new ApplyRun({ client, log, plugin, inventory, waitMs, signal });
    await inventory.lead(await run.records(planned));
    // First, as what is shipped now may need what they hold: the value of a unique index.
    const shipped = new Set(planned.map((each) => identityOf(recordOf(each))));
    const dropped = inventory.records.filter((each) => !shipped.has(identityOf(each)));
    if (dropped.length > 0)
      await this.#remove({ plugin, kinds, models, records: dropped, inventory, timeoutMs: droppedMs, signal });
    const adopted: PresetRecord[] = [];
    const settle = async (each: PlannedPreset): Promise<void> => {
      const found = await run.settle(each);
      if (found !== undefined) adopted.push(found);
    };
    const isBase = (each: PlannedPreset): boolean => isNamespaceKind(each.shipped) || isDefinitionKind(each.shipped);
    for (const each of planned.filter(isBase)) await settle(each);
    // At once, as each time the whole inventory is stored: what could not be judged before its definition was there.
    const rest = planned.filter((each) => !isBase(each));
    await inventory.put(...(await run.records(rest.filter((each) => inventory.find(recordOf(each)) === undefined))));
    for (const each of rest) await settle(each);
    return { adopted };
  }

  async #remove({ records, inventory, ...work }: RemovalWork): Promise<LeftPreset[]> {
    const { client, log } = this.#options;
    const left = await new RemovalRun({ client, log, ...work }).remove(records);
    const kept = new Set(left.map((each) => identityOf(each.record)));
    await inventory.drop(records.filter((each) => !kept.has(identityOf(each))));
    return left;
  }
}

interface RemovalWork {
  plugin: string;
  kinds: PresetKinds;
  models: readonly string[];
  records: readonly PresetRecord[];
  inventory: Inventory;
  timeoutMs: number;
  signal: AbortSignal;
}

function recordOf({ shipped: { apiVersion, kind }, key }: PlannedPreset): PresetRecord {
  return { apiVersion, kind, ...key };
}

/** Whoever stores the inventory knows its own failures. */
async function throughInventory<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof InventoryNotStored ? error.cause : error;
  }
}
