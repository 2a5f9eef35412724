import type { Client } from '#pkg/apimachinery/index';
import type { Log } from '#pkg/runtime/index';
import { formatObject } from '../preset/preset-object.ts';
import { PresetReconciler } from '../preset/preset-reconciler.ts';
import type { ConditionChange } from './plugin-conditions.ts';
import { unregisterModels, withdrawModels, type LeftModel } from './plugin-definitions.ts';
import type { PluginRecord } from './plugin-record.ts';

/** For presets to go that somebody's finalizers hold. Milliseconds. */
const removalMs = 30_000;

export interface StopOptions {
  record: PluginRecord;
  /** Fenced. */
  client: Client;
  log: Log;
  signal: AbortSignal;
}

/** Presets, endpoints, worker, models, in this order; each step may be done again by whoever comes after a crash. */
export async function stopPlugin(options: StopOptions & { stopWorker: () => Promise<void> }): Promise<void> {
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
 * Takes back what a start did that failed: everything if no start has succeeded since the last stop, otherwise the
 * models that are new. The status tells, so it is the same after a crash in between.
 */
export async function undoStart(options: StopOptions): Promise<void> {
  const { record, client, signal } = options;
  await record.refresh(signal);
  const shipped = record.inventory;
  const { models } = record.status;
  if (models === undefined) await removePresets(options);
  await unregisterModels(client, record, { except: models ?? [], shipped, signal });
}

/** Answers the condition that tells which models are, if any is. */
function stillServed({ record, log }: StopOptions, left: readonly LeftModel[]): ConditionChange {
  if (left.length === 0) return undefined;
  const message = `these could not be taken out of service: ${left.map(({ name, error }) => `${name} (${error.message})`).join(', ')}`;
  log.warn({ plugin: record.name, reason: message }, 'a plugin was stopped, and models of it are served still');
  return { isTrue: true, reason: 'SomeLeft', message };
}

/** Answers the condition that tells what is left, if anything is. */
async function removePresets({ record, client, log, signal }: StopOptions): Promise<ConditionChange> {
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
  log.warn({ plugin: record.name, reason: message }, 'a plugin was stopped, and something of it is left');
  return { isTrue: false, reason: 'SomeLeft', message };
}
