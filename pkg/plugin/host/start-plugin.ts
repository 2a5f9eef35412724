import type { Client } from '#pkg/apimachinery/index';
import { pluginType, type PluginLimits, type PresetRecord } from '#pkg/apis/index';
import type { Log, ReconcileContext } from '#pkg/runtime/index';
import { bundlePlugin, type PluginBundle } from '../bundle/bundle-plugin.ts';
import { fileDigest } from '../bundle/fingerprint.ts';
import { refuseEndpointConflicts } from '../endpoint/refuse-endpoint-conflicts.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import { registerModel } from '../model/register-model.ts';
import { formatObject, type PresetObject } from '../preset/preset-object.ts';
import { PresetReconciler } from '../preset/preset-reconciler.ts';
import { readPresets } from '../preset/read-presets.ts';
import { PluginWorker } from '../worker/plugin-worker.ts';
import type { ConditionChanges } from './plugin-conditions.ts';
import { unregisterModels } from './plugin-definitions.ts';
import type { PluginRecord, StatusChange } from './plugin-record.ts';
import { StartFailure, step } from './start-failure.ts';

/** For a worker to end by itself, before it is ended. Milliseconds. */
export const workerStopMs = 5000;

const defaultLimits: Required<PluginLimits> = { memoryMiB: 128, startSeconds: 30, blockedSeconds: 10 };

/** What a start takes from the folder. */
export interface PreparedPlugin {
  readonly bundle: PluginBundle;
  readonly presets: readonly PresetObject[];
  /** Another wherever something that a start takes from the folder is another: what else lies there does not matter. */
  readonly content: string;
}

export interface StartOptions {
  record: PluginRecord;
  prepared: PreparedPlugin;
  /** Fenced, as the next. */
  client: Client;
  /** The API as the plugin has it: as its own user. */
  pluginClient: Client;
  log: Log;
  lister: ReconcileContext['lister'];
  /** What the plugin may see of. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Where endpoints of this host are to be had, for API servers in other processes. */
  url: string | undefined;
  signal: AbortSignal;
  /** What the worker's `health` says is another now. */
  onHealth: () => void;
  /**
   * Called when the new worker is loaded, before anything that others see changes: where a version before still runs,
   * its controllers are to stop.
   */
  takeOver?: () => Promise<void>;
}

/** @throws StartFailure of FilesValid */
export function preparePlugin({ folder, main, spec }: PluginManifest, outDir: string): Promise<PreparedPlugin> {
  return step('FilesValid', async () => {
    const presets = await readPresets(folder);
    const bundle = await bundlePlugin({ folder, main, outDir });
    return {
      presets,
      bundle,
      content: fileDigest(Buffer.from(JSON.stringify([spec, main, presets, bundle.fingerprint]))),
    };
  });
}

/** A worker that has all it needs, and the status that says so and shows its endpoints. */
export interface StartedPlugin {
  worker: PluginWorker;
  change: StatusChange;
}

/**
 * Worker, models, presets, controllers. Where one of these fails the new worker is ended; models and presets are the
 * caller's to undo.
 * @throws StartFailure; other errors where the API could not be written to
 */
export async function startPlugin(options: StartOptions): Promise<StartedPlugin> {
  const { record, prepared, pluginClient, log, environment, signal, onHealth } = options;
  const { limits, environment: visible = [] } = record.spec;
  const worker = await step('Healthy', () =>
    PluginWorker.start({
      name: record.name,
      bundle: prepared.bundle,
      client: pluginClient,
      log,
      environment: Object.fromEntries(
        visible.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
      ),
      limits: { ...defaultLimits, ...limits },
      signal,
      onHealth,
    }),
  );
  try {
    return { worker, change: await bringUp(worker, options) };
  } catch (error) {
    // Has it ended by itself, that is the reason of all the rest.
    const crash = await Promise.race([worker.ended, Promise.resolve(undefined)]);
    await worker.stop(workerStopMs);
    throw crash === undefined ? error : new StartFailure('Healthy', crash.reason, crash.message, error);
  }
}

export type ContentOptions = Pick<StartOptions, 'record' | 'prepared' | 'client' | 'log' | 'signal'>;

/**
 * Makes models and presets what they are in this version; answers the presets that were there before, and a person's.
 * @throws StartFailure
 */
export async function applyContent(
  worker: PluginWorker,
  { record, prepared, client, log, signal }: ContentOptions,
): Promise<{ adopted: PresetRecord[] }> {
  const plugin = record.name;
  const { models } = worker.description;
  const { indexKeys } = prepared.bundle;
  const registration = { plugin, signal, ...(indexKeys === undefined ? {} : { indexKeys }) };
  for (const definition of models)
    await step('ModelsServed', () => registerModel(client, { definition }, registration));
  const names = models.map(({ metadata }) => metadata.name);
  return step('PresetsApplied', () =>
    new PresetReconciler({ client, log }).apply({
      plugin,
      presets: prepared.presets,
      models: names,
      inventory: record.inventory,
      record: record.recordInventory,
      signal,
    }),
  );
}

async function bringUp(worker: PluginWorker, options: StartOptions): Promise<StatusChange> {
  const { record, client, lister, url, signal, takeOver } = options;
  const { models, endpoints } = worker.description;
  await step('Healthy', async () =>
    refuseEndpointConflicts({ plugin: record.name, endpoints }, lister(pluginType).list()),
  );
  await takeOver?.();
  const { adopted } = await applyContent(worker, options);
  const names = models.map(({ metadata }) => metadata.name);
  await step('Healthy', () => worker.runControllers());
  // Those that an earlier version had.
  if (record.status.models?.some((name) => !names.includes(name)) === true)
    await step('ModelsServed', () => unregisterModels(client, record, { except: names, signal }));
  signal.throwIfAborted();
  return {
    phase: 'Started',
    version: record.spec.version,
    models: names,
    endpoints: [...endpoints],
    host: url === undefined ? undefined : { url },
    conditions: {
      FilesValid: { isTrue: true, reason: 'Valid' },
      DependenciesMet: { isTrue: true, reason: 'Met' },
      ModelsServed: { isTrue: true, reason: 'Served' },
      PresetsApplied: { isTrue: true, reason: 'Applied' },
      Adopted:
        adopted.length === 0
          ? undefined
          : {
              isTrue: true,
              reason: 'MadeByOthers',
              message: `these were there before, and are not removed at the stop: ${adopted.map(formatObject).join(', ')}`,
            },
      ...healthConditions(worker.health),
      Reloaded: undefined,
    },
  };
}

/** What a worker says of its controllers. */
export function healthConditions({
  controllers,
  reconciles,
}: PluginWorker['health']): Required<Pick<ConditionChanges, 'Healthy' | 'ReconcilesSucceed'>> {
  return {
    Healthy:
      controllers === undefined
        ? { isTrue: true, reason: 'Running' }
        : { isTrue: false, reason: 'ControllersNotRunning', message: controllers },
    ReconcilesSucceed: reconciles === undefined ? undefined : { isTrue: false, reason: 'Failing', message: reconciles },
  };
}
