import type { MessagePort } from 'node:worker_threads';
import { isStatusError, newInternalError, statusErrorFrom, type Status } from '#pkg/apimachinery/index';
import { PortClient } from '#pkg/client/index';
import { Manager } from '#pkg/runtime/index';
import type { PluginDefinition } from '../../definition/define-plugin.ts';
import { checkDefinition } from './check-definition.ts';
import type { HostToWorker, PluginDescription, WorkerStart, WorkerToHost } from '../control-message.ts';
import { describeHealth } from './describe-health.ts';
import { describePlugin } from './describe-plugin.ts';
import type { EndpointRunner } from './endpoint/endpoint-runner.ts';
import { errorText } from '../error-text.ts';
import { HealthReporter } from './health-reporter.ts';
import { loadBundle } from './load-bundle.ts';
import { PortLog } from '../log/port-log.ts';

/** The host terminates a worker that takes longer. */
const stopTimeoutMs = 600_000;
/** How long the start waits for the caches of controllers to sync; slower controllers start anyway. Milliseconds. */
const settleMs = 5000;

/** Runs the plugin in its worker thread: executes the host's commands and reports the results. */
export class PluginThread {
  readonly #start: Pick<WorkerStart, 'plugin' | 'module'>;
  readonly #control: MessagePort;
  readonly #client: PortClient;
  readonly #log: PortLog;
  readonly #calls = new Map<number, AbortController>();
  #definition: PluginDefinition | undefined;
  #endpoints: EndpointRunner | undefined;
  #manager: Manager | undefined;
  /** Its controllers have had enough time to start. */
  #hasSettled = false;
  readonly #health = new HealthReporter({
    read: () => (this.#manager === undefined ? {} : describeHealth(this.#manager, this.#hasSettled)),
    report: (health) => this.#post({ kind: 'health', health }),
  });
  #isStopping = false;
  #whenIdle: (() => void) | undefined;

  constructor({ plugin, module, control, client }: WorkerStart) {
    this.#start = { plugin, module };
    this.#control = control;
    this.#client = new PortClient({ port: client });
    this.#log = new PortLog((message) => this.#post(message));
    control.on('message', (message: HostToWorker) => this.#hear(message));
  }

  /** Loads the plugin's module and reports its parts. Never rejects. */
  async load(): Promise<void> {
    let module: Record<string, unknown>;
    try {
      module = await loadBundle(this.#start.module);
    } catch (error) {
      this.#log.error({ err: error }, "the plugin's module threw an error while it was loaded");
      return this.#post({
        kind: 'notDescribed',
        reason: 'ModuleFailed',
        message: `the module could not be loaded: ${errorText(error)}`,
      });
    }
    try {
      const description = await this.#describe(module);
      this.#post({ kind: 'described', description });
    } catch (error) {
      this.#post({
        kind: 'notDescribed',
        reason: 'DefinitionInvalid',
        message: error instanceof TypeError ? error.message : errorText(error),
      });
    }
  }

  async #describe(module: Record<string, unknown>): Promise<PluginDescription> {
    const definition = checkDefinition(module);
    const description = describePlugin(this.#start.plugin, definition);
    const { endpoints } = definition;
    if (endpoints.length > 0) {
      // Loads Ajv only for plugins with endpoints.
      const { EndpointRunner: Runner, SchemaChecker } = await import('./endpoint/endpoints.ts');
      this.#endpoints = new Runner({ endpoints, checker: new SchemaChecker(), client: this.#client, log: this.#log });
    }
    this.#definition = definition;
    return description;
  }

  #hear(message: HostToWorker): void {
    switch (message.kind) {
      case 'runControllers':
        return void this.#runControllers();
      case 'stopControllers':
        return void this.#stopControllers();
      case 'call':
        return void this.#call(message);
      case 'abort':
        return this.#calls.get(message.id)?.abort();
      case 'stop':
        void this.#stop();
    }
  }

  /** Never rejects. */
  async #runControllers(): Promise<void> {
    if (this.#manager !== undefined || this.#definition === undefined) return;
    try {
      const { controllers } = this.#definition;
      const manager = new Manager({
        name: `plugin-${this.#start.plugin}`,
        owner: this.#start.plugin,
        client: this.#client,
        log: this.#log,
        controllers,
        stopTimeoutMs,
        onChange: () => this.#health.note(),
      });
      this.#manager = manager;
      this.#hasSettled = false;
      manager.start();
      await manager.settled(AbortSignal.timeout(settleMs));
      this.#hasSettled = true;
      // A controller that only waits for its caches may still sync; one that throws fails the start.
      const failed = manager.controllers.find(({ state }) => state === 'failed');
      if (failed !== undefined)
        return await this.#refuse(`the controller ${failed.name} could not be started: ${errorText(failed.problem)}`);
      this.#health.flush();
      this.#post({ kind: 'running' });
    } catch (error) {
      await this.#refuse(`the controllers could not be started: ${errorText(error)}`);
    }
  }

  async #refuse(message: string): Promise<void> {
    await this.#endManager();
    this.#post({ kind: 'notRunning', message });
  }

  async #stopControllers(): Promise<void> {
    await this.#endManager();
    this.#post({ kind: 'controllersStopped' });
  }

  /** Never rejects. */
  async #endManager(): Promise<void> {
    const manager = this.#manager;
    await manager?.stop();
    if (this.#manager === manager) this.#manager = undefined;
    this.#health.flush();
  }

  /** Never rejects. */
  async #call({ id, call }: Extract<HostToWorker, { kind: 'call' }>): Promise<void> {
    const abort = new AbortController();
    this.#calls.set(id, abort);
    try {
      if (this.#endpoints === undefined) throw new Error('the plugin has no endpoints');
      this.#post({ kind: 'result', id, result: await this.#endpoints.run(call, abort.signal) });
    } catch (error) {
      this.#post({ kind: 'failure', id, status: plainStatus(error) });
    } finally {
      this.#calls.delete(id);
      if (this.#calls.size === 0) this.#whenIdle?.();
    }
  }

  async #stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const idle = new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
    });
    await Promise.all([this.#endManager(), this.#calls.size === 0 ? undefined : idle]);
    this.#health.stop();
    this.#client.close();
    this.#post({ kind: 'stopped' });
  }

  #post(message: WorkerToHost): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows of a browser; a port has one other side
    this.#control.postMessage(message);
  }
}

/** Converts an error to data that can be sent to the host: a plugin may throw anything. */
function plainStatus(error: unknown): Status {
  try {
    return statusErrorFrom((isStatusError(error) ? error : newInternalError(error)).toStatus()).toStatus();
  } catch {
    return newInternalError(undefined).toStatus();
  }
}
