import { silentLog } from '#pkg/database/index';
import type { AnyObject, Client } from '#pkg/apimachinery/index';
import type { PresetRecord } from '#pkg/apis/index';
import type { PresetObject } from '../preset-object.ts';
import { PresetReconciler } from '../preset-reconciler.ts';
import type { LeftPreset } from '../removal-run.ts';
import { interruptedClient, CrashScheduler } from './interrupted-client.ts';

/** A plugin reduced to its presets: a name and a stored inventory. */
export class ShippingPlugin {
  readonly name: string;
  /** The stored inventory. */
  inventory: readonly PresetRecord[] = [];
  readonly #client: Client;
  readonly #waitMs: number;

  /** @param waitMs timeout of each wait of a start */
  constructor(client: Client, name: string, waitMs = 20_000) {
    this.#client = client;
    this.name = name;
    this.#waitMs = waitMs;
  }

  start(
    objects: readonly AnyObject[],
    {
      killer = new CrashScheduler(),
      models = [],
      signal = new AbortController().signal,
    }: { killer?: CrashScheduler; models?: string[]; signal?: AbortSignal } = {},
  ): Promise<{ adopted: PresetRecord[] }> {
    return this.#reconciler(killer).apply({
      plugin: this.name,
      presets: objects.map(asPreset),
      models,
      inventory: this.inventory,
      record: this.#record(killer),
      signal,
    });
  }

  stop({
    killer = new CrashScheduler(),
    timeoutMs = 10_000,
    signal = new AbortController().signal,
  }: { killer?: CrashScheduler; timeoutMs?: number; signal?: AbortSignal } = {}): Promise<{ left: LeftPreset[] }> {
    return this.#reconciler(killer).remove({
      plugin: this.name,
      inventory: this.inventory,
      record: this.#record(killer),
      timeoutMs,
      signal,
    });
  }

  #reconciler(killer: CrashScheduler): PresetReconciler {
    return new PresetReconciler({
      client: interruptedClient(this.#client, killer),
      log: { ...silentLog, debug: () => undefined },
      waitMs: this.#waitMs,
      droppedMs: this.#waitMs,
    });
  }

  #record(killer: CrashScheduler): (records: PresetRecord[]) => Promise<void> {
    return (records) =>
      killer.step(async () => {
        this.inventory = records;
      });
  }
}

function asPreset(object: AnyObject, i: number): PresetObject {
  return { file: 'presets/all.yaml', document: i + 1, object: structuredClone(object) as PresetObject['object'] };
}
