import { Worker, type TransferListItem } from 'node:worker_threads';
import type { Log } from '#pkg/runtime/index';
import { heapOfBusyThread } from './busy-heap.ts';
import { errorText } from './error-text.ts';
import { allowCollectors } from './heap-collector.ts';
import { LineBudget, lineRate } from './line-budget.ts';
import { LineSplitter } from './line-splitter.ts';
import { Heartbeat, HeartbeatMonitor } from './heartbeat.ts';

/** How a worker ended that nobody had told to. */
export interface PluginCrash {
  reason: 'Threw' | 'OutOfMemory' | 'Blocked' | 'Exited';
  /** For people: what was thrown, and where. */
  message: string;
}

export interface WorkerThreadOptions {
  plugin: string;
  /** Its program. */
  file: string;
  /** What the program begins with, besides its pulse. */
  data: object;
  transfer: readonly TransferListItem[];
  environment: Readonly<Record<string, string>>;
  log: Log;
  memoryMiB: number;
  /** Counts from `begin` on. */
  blockedMs: number;
  /**
   * Of a thread that is told to end, before it is taken for ended: it may be within a call of the system. Milliseconds,
   * default 10 000.
   */
  terminateMs?: number;
}

/**
 * Between the limit that we enforce and the one that V8 does, MiB. V8 ends a thread well only where its heap grows in
 * small steps: a Map or an array that doubles beyond its limit ends the whole process.
 */
const headroomMiB = 2048;
/** A worker without a pulse for so long is asked for its heap. Milliseconds. */
const quietMs = 2 * Heartbeat.intervalMs;
/** Those that have not ended. */
const threads = new Set<WorkerThread>();

/**
 * How many threads of plugins there are in this process. Node waits for them in `process.exit`, even for one that does
 * not end.
 */
export function threadCount(): number {
  return threads.size;
}

/**
 * How many threads of this plugin were told to end, and have not: they were left behind, and are there until they do.
 */
export function threadsLeftBehind(plugin: string): number {
  return Array.from(threads).filter((thread) => thread.isLeftBehind && thread.plugin === plugin).length;
}

/**
 * A worker thread whose faults stay its own: heap, buffers and time are limited, and what it prints goes to the log.
 */
export class WorkerThread {
  /** Resolves when the thread is no more, with the crash unless `terminate` was called first. */
  readonly ended: Promise<PluginCrash | undefined>;
  readonly plugin: string;
  /** Told to end, it did not, and is taken for ended. */
  isLeftBehind = false;
  readonly #pulse = new Heartbeat();
  readonly #options: WorkerThreadOptions;
  readonly #worker: Worker;
  readonly #watching: NodeJS.Timeout;
  #crash: PluginCrash | undefined;
  #watch: HeartbeatMonitor;
  #hasBegun = false;
  #isTerminated = false;
  #isProbed = false;
  #markEnded!: (crash: PluginCrash | undefined) => void;

  /** @throws Error where the system gives no thread */
  constructor(options: WorkerThreadOptions) {
    this.#options = options;
    const { plugin, file, data, transfer, environment, memoryMiB } = options;
    this.plugin = plugin;
    allowCollectors();
    this.#worker = new Worker(file, {
      name: `plugin ${plugin}`,
      workerData: { ...data, plugin, pulse: this.#pulse.buffer, memoryMiB },
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
    this.#watch = new HeartbeatMonitor(this.#pulse, performance.now());
    this.#watching = setInterval(() => this.#look(), Heartbeat.intervalMs).unref();
  }

  /** It is loaded: from now on it may not be busy with one thing for long. Before, its start has a limit of its own. */
  begin(): void {
    this.#hasBegun = true;
    this.#watch = new HeartbeatMonitor(this.#pulse, performance.now());
  }

  /** Ends it at once. Resolves when it is no more, or does not end even so. Idempotent, never rejects. */
  async terminate(): Promise<void> {
    this.#isTerminated = true;
    this.#kill();
    await this.ended;
  }

  #look(): void {
    const { blockedMs, memoryMiB } = this.#options;
    const stillMs = this.#watch.look(performance.now());
    if (this.#pulse.memoryMiB > memoryMiB) this.#endAs('OutOfMemory', memoryText(memoryMiB));
    else if (this.#hasBegun && stillMs >= blockedMs)
      this.#endAs(
        'Blocked',
        `it was busy with one thing for ${blockedMs / 1000} s (spec.limits.blockedSeconds), and was ended`,
      );
    else if (stillMs >= quietMs) void this.#probe();
  }

  /** A busy worker may be filling its memory. Never rejects. */
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
      log.error({ plugin }, 'the thread of a plugin does not end; it is left behind');
      this.isLeftBehind = true;
      this.#end(undefined);
    }, terminateMs);
    void this.ended.then(() => clearTimeout(giveUp));
    this.#worker
      .terminate()
      .catch((error: unknown) => log.error({ err: error, plugin }, 'the thread of a plugin could not be ended'));
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
      if (dropped > 0) log.warn({ plugin, dropped }, 'the plugin printed more than is taken; lines were left out');
      log[name === 'stdout' ? 'info' : 'warn']({ plugin, stream: name }, line);
    });
    stream.on('data', (chunk: Uint8Array) => lines.push(chunk));
    stream.once('end', () => lines.end());
  }
}

function crashFrom(error: unknown, memoryMiB: number): PluginCrash {
  // Not instanceof: it may be of another realm.
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') return { reason: 'OutOfMemory', message: memoryText(memoryMiB) };
  return { reason: 'Threw', message: errorText(error) };
}

function memoryText(memoryMiB: number): string {
  return `it took more than ${memoryMiB} MiB of memory (spec.limits.memoryMiB), and was ended`;
}
