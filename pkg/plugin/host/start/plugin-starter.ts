import { isFenceLost, newServiceUnavailable, whenAborted, type Client } from '#pkg/apimachinery/index';
import type { PluginSpec, PresetRecord } from '#pkg/apis/index';
import type { Log, ReconcileContext, ReconcileResult } from '#pkg/runtime/index';
import type { PluginManifest } from '../../manifest/manifest.ts';
import { fencedClient } from '../host-client.ts';
import type { FoundPlugin } from '../folder/plugin-folder.ts';
import { isWanted, type PluginRecord } from '../record/plugin-record.ts';
import { RetryTimes } from './retry-times.ts';
import type { RunningPlugin, RunningPlugins } from './running-plugins.ts';
import { asStartFailure, StartFailure } from './start-failure.ts';
import { StartSlots } from './start-slots.ts';
import { restorePlugin } from './restore-plugin.ts';
import {
  adoptedCondition,
  applyContent,
  preparePlugin,
  startPlugin,
  workerStopMs,
  type PreparedPlugin,
} from './start-plugin.ts';
import { undoStart } from '../stop/stop-plugin.ts';

export interface PluginStarterOptions {
  /** Creates a client with the plugin's own user. */
  clientOf: (plugin: string) => Client;
  bundleDir: string;
  environment: Readonly<Record<string, string | undefined>>;
  url: string | undefined;
  log: Log;
  running: RunningPlugins;
  /** Called after a successful start. */
  onStarted: (tookMs: number) => void;
  /** Called when a plugin's worker reports another health: reconcile the plugin. */
  onHealth: (plugin: string) => void;
}

/** A plugin whose files are valid. */
export type ValidPlugin = FoundPlugin & { readonly manifest: PluginManifest };

/** Given if the start replaces a running version. */
export interface Replacement {
  prepared: PreparedPlugin;
  old: RunningPlugin;
}

interface StartAttempt {
  record: PluginRecord;
  found: ValidPlugin;
  replacement: Replacement | undefined;
  input: string;
  /** Its signal cancels the start. */
  context: ReconcileContext;
}

/** Starts plugins: undoes a failed start, and delays the next attempt. */
export class PluginStarter {
  readonly #options: PluginStarterOptions;
  readonly #retry = new RetryTimes();
  readonly #slots = new StartSlots();
  readonly #underWay = new Map<string, AbortController>();

  constructor(options: PluginStarterOptions) {
    this.#options = options;
  }

  /** Cancels the start in progress, if any; the stop undoes its changes. */
  giveUp(name: string): void {
    this.#underWay.get(name)?.abort(newServiceUnavailable('the plugin is no longer to run'));
  }

  /** A started worker ended by itself. */
  crashed(name: string, { input, since }: RunningPlugin): void {
    this.#retry.failed(name, input, performance.now() - since);
  }

  /** Milliseconds until the next start of these files; 0 if it may start now. */
  wait(record: PluginRecord, found: FoundPlugin): number {
    return this.#retry.wait(record.name, inputOf(record, found));
  }

  /** Whether a start of these files has failed. */
  hasFailed(record: PluginRecord, found: FoundPlugin): boolean {
    return this.#retry.hasFailed(record.name, inputOf(record, found));
  }

  /** Resets its failures. */
  forget(name: string): void {
    this.#retry.forget(name);
  }

  /** The part of a start that only reads files; it may run in advance. @throws StartFailure */
  prepare(manifest: PluginManifest): Promise<PreparedPlugin> {
    return preparePlugin(manifest, this.#options.bundleDir);
  }

  /**
   * Starts the plugin, or returns when it may be tried again. A running version keeps running until the new one is
   * ready, and also if that fails.
   */
  async start(
    record: PluginRecord,
    found: ValidPlugin,
    context: ReconcileContext,
    replacement?: Replacement,
  ): Promise<ReconcileResult> {
    const { name } = record;
    const input = inputOf(record, found);
    const wait = this.#retry.wait(name, input);
    if (wait > 0) return { requeueAfterMs: wait };
    const abort = new AbortController();
    const forget = whenAborted(context.signal, () => abort.abort(context.signal.reason));
    this.#underWay.set(name, abort);
    try {
      await record.refresh(context.signal);
      // The plugin was disabled meanwhile; its stop is enqueued.
      if (!isWanted(record.object)) return undefined;
      await record.hold();
      // A retry keeps the phase until it succeeds.
      if (replacement === undefined && !this.#retry.hasFailed(name, input)) await record.change({ phase: 'Starting' });
      return await this.#attempt(
        { record, found, replacement, input, context: { ...context, signal: abort.signal } },
        context,
      );
    } finally {
      forget();
      this.#underWay.delete(name);
    }
  }

  /**
   * Brings other presets and pages to a running plugin, whose worker stays. False if that failed: a start says why, and
   * restores what was there.
   */
  async refresh(
    record: PluginRecord,
    found: ValidPlugin,
    context: ReconcileContext,
    change: Replacement,
  ): Promise<boolean> {
    const { prepared, old } = change;
    const { name } = record;
    const { running, log } = this.#options;
    await record.refresh(context.signal);
    // The plugin was disabled meanwhile; its stop is enqueued.
    if (!isWanted(record.object) || running.get(name) !== old) return true;
    running.offer(name, prepared.files);
    let adopted: PresetRecord[];
    try {
      ({ adopted } = await applyContent(old.worker, { ...context, record, prepared, log }));
    } catch (error) {
      if (context.signal.aborted || isFenceLost(error)) throw error;
      return false;
    }
    Object.assign(old, { prepared, seen: found.fingerprint, input: inputOf(record, found) });
    const valid = { isTrue: true, reason: 'Valid' };
    await record.change({ conditions: { FilesValid: valid, Adopted: adoptedCondition(adopted), Reloaded: undefined } });
    log.info({ plugin: name }, 'changed presets and pages of a running plugin');
    return true;
  }

  async #attempt(attempt: StartAttempt, context: ReconcileContext): Promise<ReconcileResult> {
    const {
      record,
      replacement,
      context: { signal },
    } = attempt;
    const { running } = this.#options;
    const giveBack = await this.#slots.take(signal);
    const takeOver = { isBegun: false };
    try {
      signal.throwIfAborted();
      await this.#bringUp(attempt, takeOver);
      return undefined;
    } catch (error) {
      const isGivenUp = signal.aborted && !context.signal.aborted;
      const hasOld = replacement !== undefined && running.get(record.name) === replacement.old;
      // The stop shuts the old version down in its own order. If its controllers have stopped already, end it here: the
      // plugin may be enabled again before its stop.
      if (isGivenUp && hasOld && !takeOver.isBegun) return undefined;
      if (!isGivenUp && hasOld)
        return await this.#keepOld({ ...attempt, replacement }, takeOver, asStartFailure(error), context);
      await running.stop(record.name);
      return isGivenUp ? undefined : await this.#failed(attempt, asStartFailure(error), context);
    } finally {
      giveBack();
    }
  }

  async #bringUp(
    { record, found, replacement, input, context }: StartAttempt,
    takeOver: { isBegun: boolean },
  ): Promise<void> {
    const { running, log, onStarted, onHealth, clientOf } = this.#options;
    const { name } = record;
    const { manifest } = found;
    const { version } = manifest.spec;
    const since = performance.now();
    const prepared = replacement?.prepared ?? (await this.prepare(manifest));
    const stopOld = async (): Promise<void> => {
      if (replacement === undefined) return;
      takeOver.isBegun = true;
      // If its reconciles ignore the signal, the old version must not run next to the new one; a rollback is then
      // impossible.
      if (!(await replacement.old.worker.stopControllers(workerStopMs))) await running.stop(name);
    };
    running.offer(name, prepared.files);
    const { worker, change } = await startPlugin({
      ...context,
      ...this.#options,
      record,
      prepared,
      pluginClient: fencedClient(clientOf(name), context.fence),
      onHealth: () => onHealth(name),
      takeOver: stopOld,
    });
    const before = running.get(name)?.worker;
    const started: RunningPlugin = {
      worker,
      seen: found.fingerprint,
      prepared,
      spec: manifest.spec,
      input,
      since,
      ...(before === undefined ? {} : { before }),
    };
    // Added before the status shows its endpoints, so that visible endpoints can be called.
    if (!(await running.add(name, started))) return;
    try {
      await record.change(change);
    } finally {
      await running.endBefore(name, started, context.signal);
    }
    const tookMs = performance.now() - since;
    onStarted(tookMs);
    log.info({ plugin: name, version, ms: Math.round(tookMs) }, 'started a plugin');
    context.events.record(record.object, {
      type: 'Normal',
      reason: 'Started',
      message: `version ${version} is started`,
    });
  }

  /** Keeps the running version, and restores what the new version had changed. */
  async #keepOld(
    { record, replacement: { old }, found, input }: StartAttempt & { replacement: Replacement },
    takeOver: { isBegun: boolean },
    error: unknown,
    context: ReconcileContext,
  ): Promise<ReconcileResult> {
    if (context.signal.aborted || isFenceLost(error)) throw error;
    const { name } = record;
    const { log, running } = this.#options;
    const isFirst = !this.#retry.hasFailed(name, input);
    this.#retry.failed(name, input);
    let left: string | undefined;
    try {
      if (takeOver.isBegun) left = await restorePlugin(old, { ...context, log, record });
    } catch (failure) {
      if (context.signal.aborted || isFenceLost(failure)) throw failure;
      log.error({ plugin: name, err: failure }, 'could not keep the running version of a plugin; stopping it');
      await running.stop(name);
    }
    if (!(error instanceof StartFailure)) throw error;
    const message = `${keepsRunningText(found.manifest.spec, old)}: ${error.message}${left === undefined ? '' : `; of ${old.spec.version} could not be restored: ${left}`}`;
    this.#logFailure(
      isFirst,
      { plugin: name, condition: error.condition, reason: error.reason, err: error.cause ?? error },
      'could not start a newer version of a plugin; the previous version keeps running',
    );
    context.events.record(record.object, { type: 'Warning', reason: error.reason, message });
    if (running.get(name) === old)
      await record.change({
        conditions: {
          FilesValid: { isTrue: true, reason: 'Valid' },
          Reloaded: { isTrue: false, reason: error.reason, message },
        },
      });
    else
      await record.change({
        phase: 'Failed',
        conditions: {
          Healthy: { isTrue: false, reason: 'NotRunning' },
          ReconcilesSucceed: undefined,
          Reloaded: undefined,
          ...error.change,
        },
      });
    return { requeueAfterMs: this.#retry.wait(name, input) };
  }

  /** Warns once about the same failure of the same files. */
  #logFailure(isFirst: boolean, details: object, message: string): void {
    this.#options.log[isFirst ? 'warn' : 'debug'](details, message);
  }

  /** Undoes a failed start, unless this process no longer leads: then the next leader continues it. */
  async #failed({ record, input }: StartAttempt, error: unknown, context: ReconcileContext): Promise<ReconcileResult> {
    if (context.signal.aborted || isFenceLost(error)) throw error;
    const { name } = record;
    const { log } = this.#options;
    const isFirstTry = !this.#retry.hasFailed(name, input);
    this.#retry.failed(name, input);
    const isFirst = record.status.models === undefined;
    await undoStart({ record, ...context }).catch((failure: unknown) =>
      log.error({ plugin: name, err: failure }, 'could not undo a failed start of a plugin'),
    );
    if (!(error instanceof StartFailure)) throw error;
    this.#logFailure(
      isFirstTry,
      { plugin: name, condition: error.condition, reason: error.reason, err: error.cause ?? error },
      'a plugin could not be started',
    );
    context.events.record(record.object, {
      type: 'Warning',
      reason: error.reason,
      message: `it could not be started: ${error.message}`,
    });
    const undone = isFirst ? { ModelsServed: undefined, PresetsApplied: undefined, Adopted: undefined } : {};
    await record.change({
      phase: 'Failed',
      conditions: {
        FilesValid: { isTrue: true, reason: 'Valid' },
        DependenciesMet: { isTrue: true, reason: 'Met' },
        ...undone,
        Healthy: { isTrue: false, reason: 'NotRunning' },
        ReconcilesSucceed: undefined,
        Reloaded: undefined,
        ...error.change,
      },
    });
    return { requeueAfterMs: this.#retry.wait(name, input) };
  }
}

/** The beginning of the message of `Reloaded` if a newer version does not run. */
export function keepsRunningText({ version }: PluginSpec, old: RunningPlugin): string {
  return `version ${version} could not be started, and ${old.spec.version} goes on`;
}

function inputOf({ generation }: PluginRecord, { fingerprint }: FoundPlugin): string {
  return `${fingerprint} ${generation}`;
}
