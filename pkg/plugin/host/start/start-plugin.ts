import type { Client } from '#pkg/apimachinery/index';
import { pluginType, type PluginLimits, type PresetRecord } from '#pkg/apis/index';
import type { Log, ReconcileContext } from '#pkg/runtime/index';
import { bundlePlugin, type PluginBundle } from '../../bundle/bundle-plugin.ts';
import { fileDigest } from '../../bundle/fingerprint.ts';
import { refuseEndpointConflicts } from '../../endpoint/refuse-endpoint-conflicts.ts';
import type { PluginManifest } from '../../manifest/manifest.ts';
import { registerModel } from '../../model/register-model.ts';
import { withFrameHashes } from '../../pages/frame-presets.ts';
import { refuseTooManyActions } from '../../pages/page-actions.ts';
import type { PluginFiles } from '../../pages/plugin-files.ts';
import { readPluginFiles } from '../../pages/read-plugin-files.ts';
import { formatObject, type PresetObject } from '../../preset/preset-object.ts';
import { PresetReconciler } from '../../preset/preset-reconciler.ts';
import { readPresets } from '../../preset/read-presets.ts';
import { PluginWorker } from '../../worker/plugin-worker.ts';
import type { ConditionChange, ConditionChanges } from '../record/plugin-conditions.ts';
import { unregisterModels } from '../record/plugin-definitions.ts';
import type { PluginRecord, StatusChange } from '../record/plugin-record.ts';
import { StartFailure, step } from './start-failure.ts';

/** How long a worker may take to end by itself before it is terminated. Milliseconds. */
export const workerStopMs = 5000;

const defaultLimits: Required<PluginLimits> = { memoryMiB: 128, startSeconds: 30, blockedSeconds: 10 };

/** The prepared files of a start. */
export interface PreparedPlugin {
  readonly bundle: PluginBundle;
  readonly presets: readonly PresetObject[];
  /** Of its pages. */
  readonly files: PluginFiles;
  /** Changes with all that the worker is made of. */
  readonly module: string;
  /** Changes with every file of the folder that a start uses; other files do not matter. */
  readonly content: string;
}

export interface StartPluginOptions {
  record: PluginRecord;
  prepared: PreparedPlugin;
  /** Fenced, like `pluginClient`. */
  client: Client;
  /** The API as the plugin's own user. */
  pluginClient: Client;
  log: Log;
  lister: ReconcileContext['lister'];
  /** The variables that a plugin may read. */
  environment: Readonly<Record<string, string | undefined>>;
  /** The URL at which API servers in other processes reach the endpoints of this host. */
  url: string | undefined;
  signal: AbortSignal;
  /** Called when the worker's `health` changes. */
  onHealth: () => void;
  /**
   * Called when the new worker is loaded, before any change that others can see. It must stop the controllers of the
   * version before, if that still runs.
   */
  takeOver?: () => Promise<void>;
}

/** @throws StartFailure of FilesValid */
export function preparePlugin({ folder, main, spec }: PluginManifest, outDir: string): Promise<PreparedPlugin> {
  return step('FilesValid', async () => {
    const parts = [readPluginFiles(folder), readPresets(folder), bundlePlugin({ folder, main, outDir })] as const;
    await Promise.allSettled(parts);
    // Of several failures the first of this order is told, whichever came first.
    const files = await parts[0];
    const presets = withFrameHashes(await parts[1], files);
    refuseTooManyActions(presets);
    const bundle = await parts[2];
    const module = fileDigest(Buffer.from(JSON.stringify([spec, main, bundle.fingerprint])));
    return {
      presets,
      files,
      bundle,
      module,
      content: fileDigest(Buffer.from(JSON.stringify([module, presets, files.hash]))),
    };
  });
}

/** A ready worker, and the status that shows it with its endpoints. */
export interface StartedPlugin {
  worker: PluginWorker;
  change: StatusChange;
}

/**
 * Starts the worker, the models, the presets and the controllers, in this order. If a step fails, the new worker is
 * terminated; the caller must undo models and presets.
 * @throws StartFailure; other errors if a write to the API failed
 */
export async function startPlugin(options: StartPluginOptions): Promise<StartedPlugin> {
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
    // If the worker ended by itself, that is the cause of all other errors.
    const crash = await Promise.race([worker.ended, Promise.resolve(undefined)]);
    await worker.stop(workerStopMs);
    throw crash === undefined ? error : new StartFailure('Healthy', crash.reason, crash.message, error);
  }
}

export type ApplyContentOptions = Pick<StartPluginOptions, 'record' | 'prepared' | 'client' | 'log' | 'signal'>;

/**
 * Brings models and presets to this version. Answers the preset objects that existed before and belong to a user.
 * @throws StartFailure
 */
export async function applyContent(
  worker: PluginWorker,
  { record, prepared, client, log, signal }: ApplyContentOptions,
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

async function bringUp(worker: PluginWorker, options: StartPluginOptions): Promise<StatusChange> {
  const { record, client, lister, url, signal, takeOver } = options;
  const { models, controllers, endpoints } = worker.description;
  await step('Healthy', async () =>
    refuseEndpointConflicts({ plugin: record.name, endpoints }, lister(pluginType).list()),
  );
  await takeOver?.();
  const { adopted } = await applyContent(worker, options);
  const names = models.map(({ metadata }) => metadata.name);
  await step('Healthy', () => worker.runControllers());
  // Remove models of an earlier version.
  if (record.status.models?.some((name) => !names.includes(name)) === true)
    await step('ModelsServed', () => unregisterModels(client, record, { except: names, signal }));
  signal.throwIfAborted();
  return {
    phase: 'Started',
    version: record.spec.version,
    models: names,
    controllers: [...controllers],
    endpoints: [...endpoints],
    host: url === undefined ? undefined : { url },
    conditions: {
      FilesValid: { isTrue: true, reason: 'Valid' },
      DependenciesMet: { isTrue: true, reason: 'Met' },
      ModelsServed: { isTrue: true, reason: 'Served' },
      PresetsApplied: { isTrue: true, reason: 'Applied' },
      Adopted: adoptedCondition(adopted),
      ...healthConditions(worker.health),
      Reloaded: undefined,
    },
  };
}

/** For presets that existed before and belong to a user. */
export function adoptedCondition(adopted: readonly PresetRecord[]): ConditionChange | undefined {
  if (adopted.length === 0) return undefined;
  return {
    isTrue: true,
    reason: 'MadeByOthers',
    message: `these were there before, and are not removed at the stop: ${adopted.map(formatObject).join(', ')}`,
  };
}

/** The conditions for what a worker reports of its controllers. */
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
