import { pathToFileURL } from 'node:url';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { newServiceUnavailable, pause, untilAborted, type Client } from '#pkg/apimachinery/index';
import type { PluginLimits } from '#pkg/apis/index';
import { servePort, type PortService } from '#pkg/client/index';
import type { Log } from '#pkg/runtime/index';
import type { PluginBundle } from '../bundle/bundle-plugin.ts';
import type { EndpointCall, EndpointResult } from '../endpoint/endpoint-call.ts';
import { PluginError } from '../plugin-error.ts';
import { CallsUnderWay } from './calls-under-way.ts';
import {
  logLevels,
  type HostToWorker,
  type PluginDescription,
  type PluginHealth,
  type WorkerToHost,
} from './control-message.ts';
import { threadsLeftBehind, WorkerThread, type PluginCrash } from './worker-thread.ts';

export type { PluginDescription } from './control-message.ts';
export type { PluginCrash } from './worker-thread.ts';

export interface PluginWorkerOptions {
  /** The plugin's name. */
  name: string;
  bundle: PluginBundle;
  /** The plugin's client: with its permissions, and fenced. */
  client: Client;
  log: Log;
  /** The only environment variables that the plugin sees. */
  environment: Readonly<Record<string, string>>;
  limits: Required<PluginLimits>;
  /** Cancels the start. */
  signal?: AbortSignal;
  /** Called when `health` has changed. */
  onHealth?: () => void;
}

/** Concurrent API calls and watches of one plugin. */
const maxClientCalls = 2000;
/** Once this many threads of a plugin did not end and keep their memory, no other is started. */
const maxStuckThreads = 3;
/** Timeout of the message that starts the controllers; caches sync later. Milliseconds. */
const runMs = 30_000;

/**
 * One plugin in its own worker thread. It may throw, loop, leak, print or exit: this process continues, and `ended`
 * reports the crash.
 */
export class PluginWorker {
  /** Resolves if the worker ends by itself, not after `stop`. */
  readonly ended: Promise<PluginCrash>;
  readonly #options: PluginWorkerOptions;
  readonly #thread: WorkerThread;
  readonly #control: MessagePort;
  readonly #api: PortService;
  readonly #calls: CallsUnderWay;
  readonly #waiting = new Map<WorkerToHost['kind'], (message: WorkerToHost) => void>();
  #description: PluginDescription | undefined;
  #health: PluginHealth = {};
  #stopping: Promise<void> | undefined;

  /**
   * Loads the plugin's module in a new thread. @throws PluginError with the reason of the crash, `ModuleFailed`,
   * `DefinitionInvalid`, `StartTimedOut` or `Stuck`
   */
  static async start(options: PluginWorkerOptions): Promise<PluginWorker> {
    const left = threadsLeftBehind(options.name);
    if (left >= maxStuckThreads)
      throw new PluginError({
        reason: 'Stuck',
        message: `${left} threads of it were told to end, and have not: it is started again when they do, or in another process`,
      });
    const worker = new PluginWorker(options);
    try {
      worker.#description = await worker.#described();
      worker.#thread.begin();
      return worker;
    } catch (error) {
      await worker.#close();
      throw error;
    }
  }

  private constructor(options: PluginWorkerOptions) {
    const { name, bundle, client, log, environment, limits } = options;
    this.#options = options;
    const [api, control] = [new MessageChannel(), new MessageChannel()];
    this.#control = control.port1;
    this.#thread = new WorkerThread({
      plugin: name,
      file: bundle.worker,
      data: { module: pathToFileURL(bundle.file).href, client: api.port2, control: control.port2 },
      transfer: [api.port2, control.port2],
      environment,
      log,
      memoryMiB: limits.memoryMiB,
      blockedMs: limits.blockedSeconds * 1000,
    });
    this.#api = servePort({
      port: api.port1,
      client,
      maxCalls: maxClientCalls,
      onError: (error) => log.error({ err: error, plugin: name }, "internal error in a plugin's API call"),
    });
    this.#calls = new CallsUnderWay(name, (message) => this.#post(message));
    control.port1.on('message', this.#hear);
    this.ended = new Promise((resolve) => {
      void this.#thread.ended.then((crash) => {
        this.#calls.end(newServiceUnavailable(`the plugin ${name} does not run at present`));
        return crash === undefined || this.#stopping !== undefined ? undefined : resolve(crash);
      });
    });
    void this.ended.then(() => this.#close());
  }

  get description(): PluginDescription {
    return this.#description!;
  }

  /** The last health that the worker reported. */
  get health(): PluginHealth {
    return this.#health;
  }

  /**
   * Resolves when its controllers run; does not wait for a controller whose cache cannot sync or syncs slowly. @throws
   * PluginError
   */
  async runControllers(): Promise<void> {
    const answered = this.#next(['running', 'notRunning'], runMs);
    this.#post({ kind: 'runControllers' });
    const answer = await answered;
    if (answer === 'late')
      throw new PluginError({
        reason: 'StartTimedOut',
        message: `the controllers were not started within ${runMs / 1000} s`,
      });
    if (answer.kind === 'notRunning') throw new PluginError({ reason: 'ControllersFailed', message: answer.message });
  }

  /**
   * Stops the controllers until the next `runControllers`; calls continue. False if reconciles have not ended in time,
   * or the worker has. Never rejects.
   */
  async stopControllers(timeoutMs: number): Promise<boolean> {
    const stopped = this.#next(['controllersStopped'], timeoutMs).catch(() => 'late' as const);
    this.#post({ kind: 'stopControllers' });
    return (await stopped) !== 'late';
  }

  /**
   * Calls an endpoint of the plugin.
   * @throws StatusError: the handler's own, validation errors of the endpoint's schemas, 413 and 429 for too much at
   * once, 503 if the plugin does not run
   */
  call(request: EndpointCall, signal: AbortSignal): Promise<EndpointResult> {
    return this.#calls.begin(request, signal);
  }

  /**
   * Waits for running calls and reconciles, then ends the thread, after `timeoutMs` at the latest. Idempotent, never
   * rejects.
   */
  stop(timeoutMs: number): Promise<void> {
    this.#stopping ??= this.#stop(timeoutMs);
    return this.#stopping;
  }

  async #described(): Promise<PluginDescription> {
    const { limits, signal } = this.#options;
    const answer = await this.#next(['described', 'notDescribed'], limits.startSeconds * 1000, signal);
    if (answer === 'late')
      throw new PluginError({
        reason: 'StartTimedOut',
        message: `the module was not loaded within ${limits.startSeconds} s (spec.limits.startSeconds)`,
      });
    if (answer.kind === 'described') return answer.description;
    throw new PluginError({ reason: answer.reason, message: answer.message });
  }

  async #stop(timeoutMs: number): Promise<void> {
    const { log, name } = this.#options;
    this.#calls.refuse(newServiceUnavailable(`the plugin ${name} is being stopped`));
    const stopped = this.#next(['stopped'], timeoutMs).catch(() => undefined);
    this.#post({ kind: 'stop' });
    if ((await stopped) === 'late')
      log.warn({ plugin: name, timeoutMs }, 'the plugin did not stop in time; terminated its worker');
    await this.#close();
  }

  /**
   * The worker's next message of these kinds, or `late`. @throws PluginError if the thread ends first; the signal's
   * reason if that fires
   */
  async #next<Kind extends WorkerToHost['kind']>(
    kinds: readonly Kind[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Extract<WorkerToHost, { kind: Kind }> | 'late'> {
    const limit = new AbortController();
    const next = Promise.race([
      new Promise<Extract<WorkerToHost, { kind: Kind }>>((resolve) => {
        for (const kind of kinds)
          this.#waiting.set(kind, (message) => resolve(message as Extract<WorkerToHost, { kind: Kind }>));
      }),
      pause(timeoutMs, limit.signal).then(() => 'late' as const),
      this.#thread.ended.then((crash) =>
        Promise.reject(
          new PluginError({ reason: crash?.reason ?? 'Stopped', message: crash?.message ?? 'it was stopped' }),
        ),
      ),
    ]);
    try {
      return await untilAborted(next, signal);
    } finally {
      limit.abort();
      for (const kind of kinds) this.#waiting.delete(kind);
    }
  }

  readonly #hear = (message: WorkerToHost): void => {
    const { log, name } = this.#options;
    if (message.kind === 'log') writeLogMessage(message, name, log);
    else if (message.kind === 'health') this.#hearHealth(message.health);
    else if (message.kind === 'result') this.#calls.resolve(message.id, message.result);
    else if (message.kind === 'failure') this.#calls.reject(message.id, message.status);
    else this.#waiting.get(message.kind)?.(message);
  };

  #hearHealth(health: PluginHealth): void {
    this.#health = health;
    this.#options.onHealth?.();
  }

  #post(message: HostToWorker): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows of a browser; a port has one other side
    this.#control.postMessage(message);
  }

  async #close(): Promise<void> {
    await this.#thread.terminate();
    this.#api.close();
    this.#control.off('message', this.#hear);
    this.#control.close();
  }
}

/** Fields that the log sets itself: of duplicate names, readers take the last. */
const reserved: ReadonlySet<string> = new Set(['level', 'time', 'msg']);

/** Writes a plugin's log message with its name. Renames details that clash with the log's own fields. */
export function writeLogMessage(
  { level, details, message }: Extract<WorkerToHost, { kind: 'log' }>,
  plugin: string,
  log: Log,
): void {
  if (!logLevels.includes(level)) return;
  const entries = Object.entries(JSON.parse(details) as object).map(
    ([name, value]) => [reserved.has(name) ? `${name}_` : name, value] as const,
  );
  log[level]({ ...Object.fromEntries(entries), plugin }, message);
}
