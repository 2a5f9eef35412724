import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Within } from './key-context.ts';

/** How often it looks. Milliseconds. */
const everyMs = 250;

/**
 * Its own text, so that it is begun without a file to be read. It has nothing of the functions in it, so a signal to
 * the whole process is what is left to it.
 */
const text = `
const { parent, cpuLimit } = require('node:worker_threads').workerData;
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  const { user, system } = process.cpuUsage();
  if (cpuLimit[0] > 0 && user + system > cpuLimit[0]) process.kill(process.pid, 'SIGXCPU');
}, ${everyMs});`;

/**
 * A thread that ends this process where a built-in function keeps it that no timeout interrupts: with SIGXCPU once that
 * has taken too much of the processor's time, with SIGKILL once the process's parent is gone. The time is the
 * processor's, so a machine that is busy with something else changes nothing.
 */
export class KeyWatch {
  private readonly hangMs: number;
  /** Microseconds that the process may have used; 0 while nothing runs. */
  private readonly cpuLimit = new Float64Array(new SharedArrayBuffer(8));

  /** @param hangMs beyond its limit. Milliseconds */
  constructor(hangMs: number) {
    this.hangMs = hangMs;
  }

  /** Once the thread runs. Where it fails the process ends. */
  async begin(): Promise<void> {
    const workerData = { parent: process.ppid, cpuLimit: this.cpuLimit };
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
    this.cpuLimit[0] = user + system + (limitMs + this.hangMs) * 1000;
    try {
      return run();
    } finally {
      this.cpuLimit[0] = 0;
    }
  };
}
