import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Within } from './key-context.ts';

/** Interval of checks. Milliseconds. */
const everyMs = 250;

/**
 * Inline text, so that the thread starts without reading a file. It cannot interrupt a function, so it signals the
 * whole process.
 */
const text = `
const { parent, cpuLimit } = require('node:worker_threads').workerData;
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  const { user, system } = process.cpuUsage();
  if (cpuLimit[0] > 0 && user + system > cpuLimit[0]) process.kill(process.pid, 'SIGXCPU');
}, ${everyMs});`;

/**
 * A thread that ends this process if a built-in function blocks it that no timeout can interrupt: with SIGXCPU after
 * too much CPU time, with SIGKILL once the parent process is gone. It measures CPU time, so a busy machine makes no
 * difference.
 */
export class KeyWatchdog {
  readonly #hangMs: number;
  /** Microseconds that the process may have used; 0 while nothing runs. */
  readonly #cpuLimit = new Float64Array(new SharedArrayBuffer(8));

  /** @param hangMs CPU time beyond the limit. Milliseconds */
  constructor(hangMs: number) {
    this.#hangMs = hangMs;
  }

  /** Resolves once the thread runs. If it fails, the process ends. */
  async begin(): Promise<void> {
    const workerData = { parent: process.ppid, cpuLimit: this.#cpuLimit };
    const worker = new Worker(text, {
      eval: true,
      execArgv: [],
      env: {},
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    });
    worker.unref();
    await once(worker, 'online');
  }

  readonly within: Within = (limitMs, run) => {
    const { user, system } = process.cpuUsage();
    this.#cpuLimit[0] = user + system + (limitMs + this.#hangMs) * 1000;
    try {
      return run();
    } finally {
      this.#cpuLimit[0] = 0;
    }
  };
}
