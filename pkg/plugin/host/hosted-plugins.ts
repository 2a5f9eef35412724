import { isDoneWithin, whenAborted, type Client, type Stored } from '#pkg/apimachinery/index';
import { pluginType, type Plugin, type PluginPhase } from '#pkg/apis/index';
import type {
  Enqueue,
  Leadership,
  Log,
  ReconcileContext,
  ReconcileRequest,
  ReconcileResult,
  Source,
} from '#pkg/runtime/index';
import { bundleSdk } from '../bundle/bundle-sdk.ts';
import type { EndpointCall } from '../endpoint/endpoint-call.ts';
import { checkRequires } from '../manifest/check-requires.ts';
import type { PluginManifest } from '../manifest/manifest.ts';
import type { PluginFiles } from '../pages/plugin-files.ts';
import { isPluginError } from '../plugin-error.ts';
import type { PluginCrash, PluginWorker } from '../worker/plugin-worker.ts';
import { dependencyProblem, dependsOn } from './dependencies/dependencies.ts';
import { fencedClient, fencedEvents } from './host-client.ts';
import { forgetDeleted, rememberDeleted, wasDeleted } from './stop/deleted-plugins.ts';
import { DependencyNotifier } from './dependencies/dependency-notifier.ts';
import type { ConditionChange, ConditionChanges } from './record/plugin-conditions.ts';
import { PluginFolder, type FoundPlugin } from './folder/plugin-folder.ts';
import { isWanted, pluginKey, PluginRecord } from './record/plugin-record.ts';
import { keepsRunningText, PluginStarter } from './start/plugin-starter.ts';
import { ReloadBudget } from './start/reload-budget.ts';
import { RunningPlugins, type RunningPlugin } from './start/running-plugins.ts';
import { mergePluginSpec } from './record/merge-plugin-spec.ts';
import { StartFailure } from './start/start-failure.ts';
import { healthConditions, type PreparedPlugin } from './start/start-plugin.ts';
import { stopPlugin } from './stop/stop-plugin.ts';

/** What this process leads: plugins, and the creation of Plugin objects for new folders. */
export interface Leaderships {
  of(plugin: string): Leadership | undefined;
  ofFolders(): Leadership | undefined;
}

export interface HostedPluginsOptions {
  leaderships: Leaderships;
  /** Creates a client with the plugin's own user. */
  clientOf: (plugin: string) => Client;
  dir: string;
  bundleDir: string;
  platformVersion: string;
  reload: boolean;
  environment: Readonly<Record<string, string | undefined>>;
  url: string | undefined;
  log: Log;
  intervalMs: number;
  observer: PluginObserver | undefined;
}

/** Called for events of the host. */
export interface PluginObserver {
  /** A plugin started. */
  started(tookMs: number): void;
  /** A worker ended by itself. */
  crashed(plugin: string): void;
}

/** How long a plugin that this process no longer leads may take to stop. Milliseconds. */
const leaveMs = 20_000;
/** Changes of dependents arrive at once; this requeue checks whether the time to wait for them is over. */
const recheckStop = { requeueAfterMs: 1000 };
const notRunning = {
  Healthy: { isTrue: false, reason: 'NotRunning' },
  ReconcilesSucceed: undefined,
  Reloaded: undefined,
} satisfies ConditionChanges;
const valid: ConditionChange = { isTrue: true, reason: 'Valid' };
const changingOften: ConditionChange = {
  isTrue: true,
  reason: 'ChangingOften',
  message: 'what it is made of changes again and again: it is started anew once a minute at most',
};

/** The plugins of this process: runs those that it leads, while the host's controller runs. */
export class HostedPlugins {
  readonly sources: readonly Source[];
  readonly #options: HostedPluginsOptions;
  readonly #folder: PluginFolder;
  readonly #running = new RunningPlugins((name, crash, plugin) => this.#crashed(name, crash, plugin));
  readonly #crashes = new Map<string, PluginCrash>();
  readonly #starter: PluginStarter;
  /** Plugins whose folder has been seen at least once. */
  readonly #seen = new Set<string>();
  readonly #dependencies = new DependencyNotifier();
  readonly #reloads = new ReloadBudget();
  /** Cheaper than reloads, and an author of a page saves more often. */
  readonly #refreshes = new ReloadBudget({ burst: 100, everyMs: 6000 });
  readonly #phases = new Map<string, PluginPhase>();
  /** The running reconcile of each plugin. */
  readonly #underWay = new Map<string, Promise<unknown>>();
  readonly #leaving = new Map<string, Promise<void>>();
  #isOver = false;
  #preparing: Promise<void> = Promise.resolve();

  constructor(options: HostedPluginsOptions) {
    this.#options = options;
    this.#folder = new PluginFolder(options);
    this.#starter = new PluginStarter({
      ...options,
      running: this.#running,
      onStarted: (tookMs) => options.observer?.started(tookMs),
      onHealth: (name) => this.#dependencies.enqueue(name),
    });
    this.sources = [
      {
        start: (enqueue) => this.#begin(enqueue),
        stop: () => this.#folder.stop(),
        problem: () => this.#folder.problem(),
      },
      this.#dependencies.source,
      { start: () => Promise.resolve(true), stop: () => this.#end() },
    ];
  }

  get unhealthyPlugins(): string[] {
    return this.#running.unhealthy;
  }

  runs(plugin: string): boolean {
    return this.#running.has(plugin);
  }

  /** The worker that handles the call. */
  workerFor(call: EndpointCall): PluginWorker | undefined {
    return this.#running.workerFor(call);
  }

  /** The files of this content, of the running version or of one that is about to replace it. */
  filesOf(plugin: string, hash: string): PluginFiles | undefined {
    return this.#running.filesOf(plugin, hash);
  }

  /** Empty after the term. */
  get phases(): Iterable<PluginPhase> {
    return this.#isOver ? [] : this.#phases.values();
  }

  /** Call it for every change of a Plugin: cancels a start that is no longer wanted. */
  onPluginChange(plugin: Plugin): void {
    if (!isWanted(plugin)) this.#starter.giveUp(plugin.metadata.name);
  }

  /** Call it when this process begins to lead the plugin. */
  lead(plugin: string): void {
    this.#dependencies.enqueue(plugin);
  }

  /** Call it when this process begins to lead the creation of Plugin objects. */
  leadFolders(): void {
    for (const name of this.#folder.names) this.#dependencies.enqueue(name);
  }

  /**
   * Ends the worker of a plugin that this process no longer leads, after the workers of those that depend on it and are
   * no longer led either. Changes nothing else. Never rejects.
   */
  leave(plugin: string): Promise<void> {
    const present = this.#leaving.get(plugin);
    if (present !== undefined) return present;
    const left = this.#leave(plugin).finally(() => this.#leaving.delete(plugin));
    this.#leaving.set(plugin, left);
    return left;
  }

  async #leave(name: string): Promise<void> {
    const { leaderships, log } = this.#options;
    const dependents = this.#running.names.filter(
      (each) => dependsOn(this.#running.get(each)!, name) && leaderships.of(each)?.signal.aborted === true,
    );
    await Promise.all(dependents.map((each) => this.leave(each)));
    const underWay = this.#underWay.get(name)?.catch(() => undefined);
    if (underWay !== undefined && !(await isDoneWithin(leaveMs, underWay)))
      log.error({ plugin: name }, 'the reconcile of a plugin did not end in time; continuing without waiting for it');
    await this.#running.stop(name);
    this.#forget(name);
    this.#dependencies.forget(name);
    this.#phases.delete(name);
  }

  async reconcile({ name }: ReconcileRequest, context: ReconcileContext): Promise<ReconcileResult> {
    const isThere = context.lister(pluginType).get(pluginKey(name)) !== undefined;
    const { leaderships } = this.#options;
    const leadership = isThere ? leaderships.of(name) : leaderships.ofFolders();
    if (isThere && this.#folder.find(name) !== undefined) this.#seen.add(name);
    if (leadership === undefined || leadership.signal.aborted) return undefined;
    const work = this.#reconcileAs(leadership, name, context);
    this.#underWay.set(name, work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(name);
    }
  }

  async #reconcileAs({ fence, signal }: Leadership, name: string, context: ReconcileContext): Promise<ReconcileResult> {
    const abort = new AbortController();
    const forget = [context.signal, signal].map((each) => whenAborted(each, () => abort.abort(each.reason)));
    try {
      const client = fencedClient(context.client, fence);
      const events = fencedEvents(context.events, fence);
      return await this.#look(name, { ...context, client, events, fence, signal: abort.signal });
    } finally {
      for (const each of forget) each();
      const all = this.#plugins(context);
      this.#dependencies.notify(name, all, {
        isRunning: this.#running.has(name),
        isWanted: all.some((each) => each.metadata.name === name && isWanted(each)),
      });
    }
  }

  async #look(name: string, context: ReconcileContext): Promise<ReconcileResult> {
    const object = context.lister(pluginType).get(pluginKey(name));
    const found = this.#folder.find(name);
    if (object === undefined) return this.#createRecord(name, found, context);
    const record = new PluginRecord(context.client, object);
    if (found?.manifest !== undefined && !record.isDeleted) await this.#follow(record, found.manifest);
    // The files have not been read yet, so their status is unknown. A stop needs no files.
    if (found === undefined && isWanted(object) && this.#folder.mayBeFound(name))
      return { requeueAfterMs: this.#options.intervalMs };
    try {
      return await (isWanted(object)
        ? this.#keepStarted(record, found, context)
        : this.#keepStopped(record, found, context));
    } finally {
      this.#phases.set(name, record.status.phase ?? 'Disabled');
    }
  }

  /** All plugins; a running one with the spec of the version that runs. */
  #plugins({ lister }: ReconcileContext): Stored<Plugin>[] {
    return lister(pluginType)
      .list()
      .map((plugin) => {
        const running = this.#running.get(plugin.metadata.name);
        return running === undefined
          ? plugin
          : { ...plugin, spec: { ...running.spec, enabled: plugin.spec.enabled === true } };
      });
  }

  /** Copies the spec from the files. A running version keeps its permissions. */
  #follow(record: PluginRecord, { spec }: PluginManifest): Promise<void> {
    const running = this.#running.get(record.name);
    return record.follow(running === undefined ? spec : mergePluginSpec(running.spec, spec));
  }

  /** A new folder, or an object that was removed by force together with its inventory. */
  async #createRecord(name: string, found: FoundPlugin | undefined, { client }: ReconcileContext): Promise<void> {
    if (found === undefined) {
      if (this.#folder.mayBeFound(name) || !this.#seen.delete(name)) return;
      return forgetDeleted(client, name);
    }
    const spec = found.manifest?.spec ?? { version: '0.0.0', enabled: false };
    const enabled = spec.enabled && !this.#seen.has(name) && !(await wasDeleted(client, name));
    await client.create(pluginType, {
      apiVersion: `${pluginType.group}/${pluginType.version}`,
      kind: pluginType.kind,
      metadata: { name },
      spec: { ...spec, enabled },
    });
    this.#seen.add(name);
    await forgetDeleted(client, name);
  }

  async #keepStopped(
    record: PluginRecord,
    found: FoundPlugin | undefined,
    context: ReconcileContext,
  ): Promise<ReconcileResult> {
    const { name } = record;
    const { phase = 'Disabled' } = record.status;
    if (phase !== 'Disabled' || this.#running.has(name)) {
      if (this.#dependencies.mustWait(name, this.#plugins(context), this.#running)) {
        await record.change({ phase: 'Stopping' });
        return recheckStop;
      }
      this.#options.log.info({ plugin: name }, 'stopping a plugin');
      await stopPlugin({ record, stopWorker: () => this.#running.stop(name), ...context });
      this.#options.log.info({ plugin: name }, 'stopped a plugin');
      context.events.record(record.object, { type: 'Normal', reason: 'Stopped', message: 'it is stopped' });
    }
    this.#forget(name);
    const isUnknown = found === undefined && this.#folder.mayBeFound(name);
    await record.change({ phase: 'Disabled', conditions: isUnknown ? {} : { FilesValid: filesCondition(found) } });
    if (!record.isDeleted) return isUnknown ? { requeueAfterMs: this.#options.intervalMs } : undefined;
    if (found !== undefined || isUnknown) await rememberDeleted(context.client, name);
    return record.release();
  }

  async #keepStarted(
    record: PluginRecord,
    found: FoundPlugin | undefined,
    context: ReconcileContext,
  ): Promise<ReconcileResult> {
    const { name } = record;
    await this.#recordCrash(record, context);
    const running = this.#running.get(name);
    if (running !== undefined) {
      const obstacle = this.#obstacle({ ...record.object, spec: running.spec }, context);
      if (obstacle !== undefined)
        return this.#dependencies.mustWait(name, this.#plugins(context), this.#running)
          ? recheckStop
          : this.#stopForNow(record, obstacle);
    }
    this.#dependencies.cancelStop(name);
    if (running !== undefined && record.status.phase === 'Started')
      return this.#keepCurrent(record, running, found, context);
    // Enabled again during its stop, so that it may be half stopped.
    await this.#running.stop(name);
    if (found?.manifest === undefined)
      return record.change({
        phase: 'Failed',
        conditions: { FilesValid: filesCondition(found), ...noLongerHealthy(record) },
      });
    const obstacle = this.#obstacle(record.object, context);
    if (obstacle !== undefined) return this.#hold(record, obstacle);
    return this.#starter.start(record, { ...found, manifest: found.manifest }, context);
  }

  async #recordCrash(record: PluginRecord, { events }: ReconcileContext): Promise<void> {
    const crash = this.#crashes.get(record.name);
    if (crash === undefined) return;
    const { reason, message } = crash;
    await record.change({
      phase: 'Failed',
      restarts: (record.status.restarts ?? 0) + 1,
      conditions: { ...notRunning, Healthy: { isTrue: false, reason, message } },
    });
    this.#crashes.delete(record.name);
    events.record(record.object, { type: 'Warning', reason, message: `its worker ended: ${message}` });
  }

  /** Why it must not run now, although its files are valid. */
  #obstacle(plugin: Plugin, context: ReconcileContext): Obstacle | undefined {
    try {
      checkRequires(plugin.spec.requires, this.#options.platformVersion);
    } catch (error) {
      if (!isPluginError(error)) throw error;
      return { reason: error.reason, message: error.message, isWaiting: false };
    }
    const all = this.#plugins(context);
    const isAvailable = (name: string): boolean =>
      all.some((each) => each.metadata.name === name && isWanted(each)) &&
      !this.#dependencies.isStopping(name) &&
      this.#running.has(name);
    return dependencyProblem(plugin, all, isAvailable);
  }

  /** A running plugin loses a dependency: its worker stops, and its objects stay. */
  async #stopForNow(record: PluginRecord, { reason, message, isWaiting }: Obstacle): Promise<void> {
    await this.#running.stop(record.name);
    this.#dependencies.cancelStop(record.name);
    this.#options.log.warn(
      { plugin: record.name, reason: message },
      'stopped a plugin, because a dependency is missing or stopped',
    );
    await record.change({
      phase: 'Failed',
      conditions: {
        DependenciesMet: { isTrue: false, reason: isWaiting ? 'DependencyStopped' : reason, message },
        ...notRunning,
      },
    });
  }

  async #hold(record: PluginRecord, { reason, message, isWaiting }: Obstacle): Promise<void> {
    const present = record.status.conditions?.find(({ type }) => type === 'DependenciesMet');
    const hasStopped = isWaiting && record.status.phase === 'Failed' && present?.reason === 'DependencyStopped';
    await record.change({
      phase: isWaiting && !hasStopped ? 'Starting' : 'Failed',
      conditions: {
        FilesValid: valid,
        DependenciesMet: { isTrue: false, reason: hasStopped ? 'DependencyStopped' : reason, message },
        ...noLongerHealthy(record),
      },
    });
  }

  /** Checks a running plugin: its health, and whether its files have changed. */
  async #keepCurrent(
    record: PluginRecord,
    running: RunningPlugin,
    found: FoundPlugin | undefined,
    context: ReconcileContext,
  ): Promise<ReconcileResult> {
    const say = (conditions: ConditionChanges): Promise<void> =>
      record.change({ conditions: { ...healthConditions(running.worker.health), ...conditions } });
    const { manifest, fingerprint } = found ?? {};
    if (found === undefined || manifest === undefined) return say({ FilesValid: filesCondition(found) });
    if (running.refused !== undefined && running.refused.fingerprint === fingerprint)
      return say({ FilesValid: running.refused.condition });
    const isNewer =
      manifest.spec.version !== running.spec.version || (this.#options.reload && fingerprint !== running.seen);
    if (!isNewer) return say({ FilesValid: valid, Reloaded: undefined });
    const obstacle = this.#obstacle(record.object, context);
    if (obstacle !== undefined) {
      await say({
        FilesValid: valid,
        Reloaded: {
          isTrue: false,
          reason: obstacle.reason,
          message: `${keepsRunningText(manifest.spec, running)}: ${obstacle.message}`,
        },
      });
      return { requeueAfterMs: this.#options.intervalMs };
    }
    const hasFailed = this.#starter.hasFailed(record, found);
    const waitMs = hasFailed
      ? this.#starter.wait(record, found)
      : Math.max(this.#reloads.wait(record.name), this.#refreshes.wait(record.name));
    if (waitMs > 0) {
      await say({ FilesValid: hasFailed ? valid : changingOften });
      return { requeueAfterMs: waitMs };
    }
    let prepared: PreparedPlugin;
    try {
      prepared = await this.#starter.prepare(manifest);
    } catch (error) {
      if (!(error instanceof StartFailure)) throw error;
      // The old version keeps running.
      running.refused = { fingerprint: found.fingerprint, condition: error.change.FilesValid };
      return say(error.change);
    }
    // A file changed that the bundle does not contain.
    if (prepared.content === running.prepared.content) {
      running.seen = found.fingerprint;
      return say({ FilesValid: valid, Reloaded: undefined });
    }
    const files = { ...found, manifest };
    const change = { prepared, old: running };
    if (prepared.module === running.prepared.module && !hasFailed) {
      this.#refreshes.count(record.name);
      if (await this.#starter.refresh(record, files, context, change)) return undefined;
    }
    if (!hasFailed) this.#reloads.count(record.name);
    this.#options.log.info(
      { plugin: record.name, from: running.spec.version, to: manifest.spec.version },
      'restarting a plugin from changed files',
    );
    const result = await this.#starter.start(record, files, context, change);
    // A crash of the old version no longer matters.
    if (this.#running.has(record.name)) this.#crashes.delete(record.name);
    return result;
  }

  #crashed(name: string, crash: PluginCrash, plugin: RunningPlugin): void {
    const { log, observer } = this.#options;
    this.#crashes.set(name, crash);
    this.#starter.crashed(name, plugin);
    log.error({ plugin: name, reason: crash.reason, message: crash.message }, 'the worker of a plugin crashed');
    observer?.crashed(name);
    this.#dependencies.enqueue(name);
  }

  #forget(name: string): void {
    this.#crashes.delete(name);
    this.#starter.forget(name);
    this.#reloads.forget(name);
    this.#refreshes.forget(name);
    this.#dependencies.cancelStop(name);
  }

  async #begin(enqueue: Enqueue): Promise<boolean> {
    const isLooking = await this.#folder.start(enqueue);
    // Takes a second or two; started early so that the first plugin does not wait. That start reports a failure.
    if (isLooking && !this.#folder.isEmpty)
      this.#preparing = bundleSdk(this.#options.bundleDir).then(
        () => undefined,
        () => undefined,
      );
    return isLooking;
  }

  /** Ends the workers, and changes nothing else. */
  async #end(): Promise<void> {
    this.#isOver = true;
    await this.#running.end();
    await this.#preparing;
  }
}

type Obstacle = NonNullable<ReturnType<typeof dependencyProblem>>;

/** Removes the health that another process reported, once its worker is gone. */
function noLongerHealthy({ status }: PluginRecord): ConditionChanges {
  const isHealthy = status.conditions?.some((each) => each.type === 'Healthy' && each.status === 'True') === true;
  return isHealthy ? notRunning : { ReconcilesSucceed: undefined, Reloaded: undefined };
}

function filesCondition(found: FoundPlugin | undefined): ConditionChange {
  if (found === undefined)
    return { isTrue: false, reason: 'FolderMissing', message: 'its folder is not in the folder of plugins' };
  return found.problem === undefined
    ? valid
    : { isTrue: false, reason: found.problem.reason, message: found.problem.message };
}
