import { isFenceLost, newServiceUnavailable, whenAborted, type Client } from '#pkg/apimachinery/index';
import type { Log, ReconcileContext, ReconcileResult } from '#pkg/runtime/index';
import type { PluginManifest } from '../manifest/manifest.ts';
import { dependenciesOf } from './dependencies.ts';
import { fencedClient } from './fenced-client.ts';
import type { FoundPlugin } from './plugin-folder.ts';
import { isWanted, type PluginRecord } from './plugin-record.ts';
import { RetryTimes } from './retry-times.ts';
import type { RunningPlugin, RunningPlugins } from './running-plugins.ts';
import { asStartFailure, StartFailure } from './start-failure.ts';
import { StartPlaces } from './start-places.ts';
import { preparePlugin, startPlugin, type PreparedPlugin } from './start-plugin.ts';
import { undoStart } from './stop-plugin.ts';

export interface StarterOptions {
  /** The API as a plugin's own user. */
  clientOf: (plugin: string) => Client;
  bundleDir: string;
  environment: Readonly<Record<string, string | undefined>>;
  url: string | undefined;
  log: Log;
  running: RunningPlugins;
  /** A start succeeded, and took so many milliseconds. */
  onStarted: (tookMs: number) => void;
}

/** A plugin whose files are valid. */
export type ValidPlugin = FoundPlugin & { readonly manifest: PluginManifest };

interface StartAttempt {
  record: PluginRecord;
  found: ValidPlugin;
  prepared: PreparedPlugin | undefined;
  input: string;
  /** Its signal gives up the start. */
  context: ReconcileContext;
}

/** Starts plugins: what fails is undone, and not tried again before its time. */
export class PluginStarter {
  readonly #options: StarterOptions;
  readonly #retry = new RetryTimes();
  readonly #places = new StartPlaces();
  readonly #underWay = new Map<string, AbortController>();

  constructor(options: StarterOptions) {
    this.#options = options;
  }

  /** Gives up the start under way, if there is one: its stop takes back what it did. */
  giveUp(name: string): void {
    this.#underWay.get(name)?.abort(newServiceUnavailable('the plugin is no longer to run'));
  }

  /** A worker that was started ended by itself. */
  crashed(name: string, { input, since }: RunningPlugin): void {
    this.#retry.failed(name, input, performance.now() - since);
  }

  /** Its failures no longer count. */
  forget(name: string): void {
    this.#retry.forget(name);
  }

  /** What a start takes from the files; may be done before. @throws StartFailure */
  prepare(manifest: PluginManifest): Promise<PreparedPlugin> {
    return preparePlugin(manifest, this.#options.bundleDir);
  }

  /** Starts it, or says when it may be tried again. */
  async start(record: PluginRecord, found: ValidPlugin, context: ReconcileContext, prepared?: PreparedPlugin): Promise<ReconcileResult> {
    const { name } = record;
    const input = `${found.fingerprint} ${record.generation}`;
    const wait = this.#retry.wait(name, input);
    if (wait > 0) return { requeueAfterMs: wait };
    const abort = new AbortController();
    const forget = whenAborted(context.signal, () => abort.abort(context.signal.reason));
    this.#underWay.set(name, abort);
    try {
      await record.refresh(context.signal);
      // What was to run a moment ago; its stop has been asked for.
      if (!isWanted(record.object)) return undefined;
      await record.hold();
      // One that is tried again stays what it is until it has succeeded.
      if (!this.#retry.hasFailed(name, input)) await record.change({ phase: 'Starting' });
      return await this.#attempt({ record, found, prepared, input, context: { ...context, signal: abort.signal } }, context);
    } finally {
      forget();
      this.#underWay.delete(name);
    }
  }

  async #attempt(attempt: StartAttempt, context: ReconcileContext): Promise<ReconcileResult> {
    const { record, input, context: { signal } } = attempt;
    const giveBack = await this.#places.take(signal);
    try {
      signal.throwIfAborted();
      await this.#bringUp(attempt);
      return undefined;
    } catch (error) {
      await this.#options.running.stop(record.name);
      return signal.aborted && !context.signal.aborted ? undefined : await this.#failed(record, input, asStartFailure(error), context);
    } finally {
      giveBack();
    }
  }

  async #bringUp({ record, found, prepared, input, context }: StartAttempt): Promise<void> {
    const { running, log, onStarted, clientOf } = this.#options;
    const { manifest } = found;
    const { version } = manifest.spec;
    const since = performance.now();
    const ready = prepared ?? (await this.prepare(manifest));
    const { worker, change } = await startPlugin({ ...context, ...this.#options, record, prepared: ready, pluginClient: fencedClient(clientOf(record.name), context.fence) });
    // Whoever sees the endpoints can call them.
    if (!(await running.add(record.name, { worker, seen: found.fingerprint, content: ready.content, version, dependencies: dependenciesOf(record.object), input, since }))) return;
    await record.change(change);
    const tookMs = performance.now() - since;
    onStarted(tookMs);
    log.info({ plugin: record.name, version, ms: Math.round(tookMs) }, 'a plugin is started');
    context.events.record(record.object, { type: 'Normal', reason: 'Started', message: `version ${version} is started` });
  }

  /** Takes back what was done of a start, unless this process no longer leads: then the next leader goes on from there. */
  async #failed(record: PluginRecord, input: string, error: unknown, context: ReconcileContext): Promise<ReconcileResult> {
    if (context.signal.aborted || isFenceLost(error)) throw error;
    const { name } = record;
    const { log } = this.#options;
    this.#retry.failed(name, input);
    const isFirst = record.status.models === undefined;
    await undoStart({ record, ...context }).catch((failure: unknown) => log.error({ plugin: name, err: failure }, 'a start that failed could not be undone'));
    if (!(error instanceof StartFailure)) throw error;
    log.warn({ plugin: name, condition: error.condition, reason: error.reason, err: error.cause ?? error }, 'a plugin could not be started');
    context.events.record(record.object, { type: 'Warning', reason: error.reason, message: `it could not be started: ${error.message}` });
    const undone = isFirst ? { ModelsServed: undefined, PresetsApplied: undefined, Adopted: undefined } : {};
    await record.change({
      phase: 'Failed',
      conditions: { FilesValid: { isTrue: true, reason: 'Valid' }, DependenciesMet: { isTrue: true, reason: 'Met' }, ...undone, Healthy: { isTrue: false, reason: 'NotRunning' }, ...error.change },
    });
    return { requeueAfterMs: this.#retry.wait(name, input) };
  }
}
