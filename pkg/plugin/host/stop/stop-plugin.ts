import type { Client } from '#pkg/apimachinery/index';
import type { Log } from '#pkg/runtime/index';
import { formatObject } from '../../preset/preset-object.ts';
import { PresetReconciler } from '../../preset/preset-reconciler.ts';
import type { ConditionChange } from '../record/plugin-conditions.ts';
import { unregisterModels, withdrawModels, type LeftModel } from '../record/plugin-definitions.ts';
import type { PluginRecord } from '../record/plugin-record.ts';

/** How long to wait for presets that finalizers block. Milliseconds. */
const removalMs = 30_000;

export interface StopPluginOptions {
  record: PluginRecord;
  /** Fenced. */
  client: Client;
  log: Log;
  signal: AbortSignal;
}

/** Stops presets, endpoints, worker and models, in this order; each step can be repeated after a crash. */
export async function stopPlugin(options: StopPluginOptions & { stopWorker: () => Promise<void> }): Promise<void> {
  const { record, client, stopWorker, signal } = options;
  await record.refresh(signal);
  const shipped = record.inventory;
  await record.change({ phase: 'Stopping' });
  const left = await removePresets(options);
  await record.change({ endpoints: undefined, host: undefined });
  await stopWorker();
  const served = stillServed(options, await withdrawModels(client, record, { shipped, signal }));
  await record.change({
    phase: 'Disabled',
    models: undefined,
    controllers: undefined,
    restarts: undefined,
    conditions: {
      DependenciesMet: undefined,
      ModelsServed: served,
      PresetsApplied: left,
      Adopted: undefined,
      Healthy: undefined,
      ReconcilesSucceed: undefined,
      Reloaded: undefined,
    },
  });
}

/**
 * Undoes a failed start: everything if no start has succeeded since the last stop, otherwise only the new models. It
 * decides by the status, so a crash in between does not matter.
 */
export async function undoStart(options: StopPluginOptions): Promise<void> {
  const { record, client, signal } = options;
  await record.refresh(signal);
  const shipped = record.inventory;
  const { models } = record.status;
  if (models === undefined) await removePresets(options);
  await unregisterModels(client, record, { except: models ?? [], shipped, signal });
}

/** Returns the condition that lists models that are still served, if any. */
function stillServed({ record, log }: StopPluginOptions, left: readonly LeftModel[]): ConditionChange {
  if (left.length === 0) return undefined;
  const message = `these could not be taken out of service: ${left.map(({ name, error }) => `${name} (${error.message})`).join(', ')}`;
  log.warn({ plugin: record.name, reason: message }, 'stopped a plugin, but some of its models are still served');
  return { isTrue: true, reason: 'SomeLeft', message };
}

/** Returns the condition that lists presets that are left, if any. */
async function removePresets({ record, client, log, signal }: StopPluginOptions): Promise<ConditionChange> {
  if (record.inventory.length === 0) return undefined;
  const presets = new PresetReconciler({ client, log });
  const { left } = await presets.remove({
    plugin: record.name,
    inventory: record.inventory,
    record: record.recordInventory,
    signal,
    timeoutMs: removalMs,
  });
  if (left.length === 0) return undefined;
  const message = `these could not be removed: ${left.map((each) => `${formatObject(each.record)} (${each.why})`).join(', ')}`;
  log.warn({ plugin: record.name, reason: message }, 'stopped a plugin, but some of its presets are left');
  return { isTrue: false, reason: 'SomeLeft', message };
}
