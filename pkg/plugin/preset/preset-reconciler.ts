import type { Client } from '#pkg/apimachinery/index';
import type { PresetRecord } from '#pkg/apis/index';
import { wrapClient } from '#pkg/client/index';
import type { Log } from '#pkg/runtime/index';
import { ApplyRun } from './apply-run.ts';
import { identityOf, Inventory, InventoryNotStored } from './inventory.ts';
import { planPresets, shippedDefinitions, type PlannedPreset } from './plan-presets.ts';
import { isDefinitionKind, isNamespaceKind, PresetKinds } from './preset-kinds.ts';
import type { PresetObject } from './preset-object.ts';
import { RemovalRun, type LeftPreset } from './removal-run.ts';

export interface PresetReconcilerOptions {
  /** The plugin's client with the leader's fence; it must not read from a cache. */
  client: Client;
  log: Log;
  /**
   * How long a start waits until a deleted object is gone, and until a definition is served. Milliseconds, default 30
   * 000.
   */
  waitMs?: number;
  /** How long a start waits until dropped presets are gone before it continues. Milliseconds, default 10 000. */
  droppedMs?: number;
}

/** The manager of the fields of presets. */
const presetManager = 'svc-preset';

interface PresetWork {
  /** The plugin's name. */
  plugin: string;
  /** As stored in `Plugin.status.presets`. */
  inventory: readonly PresetRecord[];
  /**
   * Stores the inventory, before the objects change. It must throw if the stored inventory is neither the one that
   * `inventory` was read from nor the last one that was stored here: otherwise a deposed leader could delete records of
   * the next one.
   */
  record: (inventory: PresetRecord[]) => Promise<void>;
  signal: AbortSignal;
}

export interface ApplyPresets extends PresetWork {
  presets: readonly PresetObject[];
  /**
   * Names of the definitions that the plugin registers itself; if one was a preset before, the presets leave it alone.
   */
  models?: readonly string[];
}

export interface RemovePresets extends PresetWork {
  /** Timeout of the whole removal. */
  timeoutMs: number;
}

/**
 * Creates and removes the objects that a plugin ships. The inventory is written ahead: after an interruption anywhere,
 * the same call with the stored inventory completes the work. It never deletes a user's object, and never changes
 * another plugin's.
 */
export class PresetReconciler {
  readonly #options: Required<PresetReconcilerOptions>;

  constructor({ client, ...options }: PresetReconcilerOptions) {
    const named = wrapClient(client, {
      write: ({ options: given }, send) => send({ ...given, fieldManager: presetManager }),
    });
    this.#options = { waitMs: 30_000, droppedMs: 10_000, ...options, client: named };
  }

  /**
   * A start: creates and updates shipped presets, and removes those that are no longer shipped. Returns the objects
   * that existed before and belong to a user.
   * @throws PluginError PresetsInvalid, PresetKindUnknown and PresetTaken before the first write; PresetRefused,
   * PresetTerminating and PresetTaken later; StatusError for transient failures and a lost fence; errors of `record`
   */
  apply(work: ApplyPresets): Promise<{ adopted: PresetRecord[] }> {
    return throughInventory(() => this.#apply(work));
  }

  /**
   * A stop: removes the objects of the inventory by the rules, and waits until they are gone. Returns the objects that
   * are left after the timeout; they stay in the inventory.
   * @throws StatusError if the signal fires, the fence is lost, or the definitions cannot be listed; errors of `record`
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
    // First, because shipped presets may need what dropped ones hold, such as the value of a unique index.
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
    // In one write, because each write stores the whole inventory: the presets that could not be judged before their
    // definitions existed.
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

/** Unwraps errors of the inventory's store, which the caller knows. */
async function throughInventory<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof InventoryNotStored ? error.cause : error;
  }
}
