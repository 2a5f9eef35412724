import { Worker, type TransferListItem } from 'node:worker_threads';
import type { Log } from '#pkg/runtime/index';
import { heapOfBusyThread } from './busy-heap.ts';
import { errorText } from './error-text.ts';
import { allowCollectors } from './heap-collector.ts';
import { LineBudget, lineRate } from './log/line-budget.ts';
import { LineSplitter } from './log/line-splitter.ts';
import { Heartbeat, HeartbeatMonitor } from './heartbeat.ts';

/** How a worker ended without being stopped. */
export interface PluginCrash {
  reason: 'Threw' | 'OutOfMemory' | 'Blocked' | 'Exited';
  /** Human-readable: what was thrown, and where. */
  message: string;
}

export interface WorkerThreadOptions {
  plugin: string;
  /** The worker's program. */
  file: string;
  /** `workerData`, without the heartbeat. */
  data: object;
  transfer: readonly TransferListItem[];
  environment: Readonly<Record<string, string>>;
  log: Log;
  memoryMiB: number;
  /** Limit without a heartbeat; applies after `begin`. */
  blockedMs: number;
  /**
   * How long a terminated thread may take before it counts as ended: it may be in a system call. Milliseconds, default
   * 10 000.
   */
  terminateMs?: number;
}

/**
 * Difference between our limit and V8's, MiB. V8 ends only the thread if its heap grows in small steps, but a Map or an
 * array that doubles beyond V8's limit ends the whole process.
 */
const headroomMiB = 2048;
/** A worker without a heartbeat for this long is asked for its heap size. Milliseconds. */
const quietMs = 2 * Heartbeat.intervalMs;
/** Threads that have not ended. */
const threads = new Set<WorkerThread>();

/** The number of plugin threads in this process. `process.exit` waits for them, even for one that never ends. */
export function threadCount(): number {
  return threads.size;
}

/**
 * The number of this plugin's threads that were terminated and have not ended; they count as left behind until they do.
 */
export function threadsLeftBehind(plugin: string): number {
  return Array.from(threads).filter((thread) => thread.isStuck && thread.plugin === plugin).length;
}

/**
 * A worker thread that isolates a plugin's faults: heap, buffers and time are limited, and its output goes to the log.
 */
export class WorkerThread {
  /** Resolves when the thread has ended, with the crash unless `terminate` was called first. */
  readonly ended: Promise<PluginCrash | undefined>;
  readonly plugin: string;
  /** It did not end after termination, and counts as ended. */
  isStuck = false;
  readonly #heartbeat = new Heartbeat();
  readonly #options: WorkerThreadOptions;
  readonly #worker: Worker;
  readonly #watching: NodeJS.Timeout;
  #crash: PluginCrash | undefined;
  #watch: HeartbeatMonitor;
  #hasBegun = false;
  #isTerminated = false;
  #isProbed = false;
  #markEnded!: (crash: PluginCrash | undefined) => void;

  /** @throws Error if the system cannot create a thread */
  constructor(options: WorkerThreadOptions) {
    this.#options = options;
    const { plugin, file, data, transfer, environment, memoryMiB } = options;
    this.plugin = plugin;
    allowCollectors();
    this.#worker = new Worker(file, {
      name: `plugin ${plugin}`,
      workerData: { ...data, plugin, pulse: this.#heartbeat.buffer, memoryMiB },
      transferList: [...transfer],
      env: { ...environment },
      argv: [],
      execArgv: [],
      stdin: false,
      stdout: true,
      stderr: true,
      trackUnmanagedFds: true,
      resourceLimits: { maxOldGenerationSizeMb: memoryMiB + headroomMiB, maxYoungGenerationSizeMb: 16 },
    });
    this.ended = new Promise((resolve) => {
      this.#markEnded = resolve;
    });
    threads.add(this);
    this.#worker.once('error', (error: unknown) => this.#note(crashFrom(error, memoryMiB)));
    this.#worker.once('exit', (code) => {
      threads.delete(this);
      this.#end({ reason: 'Exited', message: `it ended its own thread: process.exit(${code})` });
    });
    this.#logLines(this.#worker.stdout, 'stdout');
    this.#logLines(this.#worker.stderr, 'stderr');
    this.#watch = new HeartbeatMonitor(this.#heartbeat, performance.now());
    this.#watching = setInterval(() => this.#look(), Heartbeat.intervalMs).unref();
  }

  /** The module is loaded: from now on `blockedMs` applies. Before, the start has its own timeout. */
  begin(): void {
    this.#hasBegun = true;
    this.#watch = new HeartbeatMonitor(this.#heartbeat, performance.now());
  }

  /** Ends the thread at once. Resolves when it has ended, or after `terminateMs`. Idempotent, never rejects. */
  async terminate(): Promise<void> {
    this.#isTerminated = true;
    this.#kill();
    await this.ended;
  }

  #look(): void {
    const { blockedMs, memoryMiB } = this.#options;
    const stillMs = this.#watch.look(performance.now());
    if (this.#heartbeat.memoryMiB > memoryMiB) this.#endAs('OutOfMemory', memoryText(memoryMiB));
    else if (this.#hasBegun && stillMs >= blockedMs)
      this.#endAs(
        'Blocked',
        `it was busy with one thing for ${blockedMs / 1000} s (spec.limits.blockedSeconds), and was ended`,
      );
    else if (stillMs >= quietMs) void this.#probe();
  }

  /** Checks the heap of a busy worker. Never rejects. */
  async #probe(): Promise<void> {
    if (this.#isProbed) return;
    this.#isProbed = true;
    const { memoryMiB } = this.#options;
    const used = await heapOfBusyThread(this.#worker.threadId, memoryMiB);
    this.#isProbed = false;
    if (used !== undefined && used > memoryMiB) this.#endAs('OutOfMemory', memoryText(memoryMiB));
  }

  #endAs(reason: PluginCrash['reason'], message: string): void {
    this.#note({ reason, message });
    this.#kill();
  }

  #kill(): void {
    clearInterval(this.#watching);
    const { log, plugin, terminateMs = 10_000 } = this.#options;
    const giveUp = setTimeout(() => {
      log.error({ plugin }, 'the thread of a plugin does not terminate; continuing without waiting for it');
      this.isStuck = true;
      this.#end(undefined);
    }, terminateMs);
    void this.ended.then(() => clearTimeout(giveUp));
    this.#worker
      .terminate()
      .catch((error: unknown) => log.error({ err: error, plugin }, 'could not terminate the thread of a plugin'));
  }

  /** The first reason counts. */
  #note(crash: PluginCrash): void {
    this.#crash ??= crash;
  }

  #end(crash: PluginCrash | undefined): void {
    clearInterval(this.#watching);
    this.#markEnded(this.#isTerminated ? undefined : (this.#crash ?? crash));
  }

  #logLines(stream: NodeJS.ReadableStream, name: 'stdout' | 'stderr'): void {
    const { log, plugin } = this.#options;
    const budget = new LineBudget({ ...lineRate, now: performance.now() });
    const lines = new LineSplitter((line) => {
      const dropped = budget.take(performance.now());
      if (dropped === undefined) return;
      if (dropped > 0) log.warn({ plugin, dropped }, 'the plugin printed too fast; dropped lines');
      log[name === 'stdout' ? 'info' : 'warn']({ plugin, stream: name }, line);
    });
    stream.on('data', (chunk: Uint8Array) => lines.push(chunk));
    stream.once('end', () => lines.end());
  }
}

function crashFrom(error: unknown, memoryMiB: number): PluginCrash {
  // Not instanceof: the error may come from another realm.
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') return { reason: 'OutOfMemory', message: memoryText(memoryMiB) };
  return { reason: 'Threw', message: errorText(error) };
}

function memoryText(memoryMiB: number): string {
  return `it took more than ${memoryMiB} MiB of memory (spec.limits.memoryMiB), and was ended`;
}
