import { Worker } from 'node:worker_threads';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

const lookMs = 500;

// A worker whose parent was killed hears nothing of it, and would go on for as long as its tests do.
if (process.send !== undefined) {
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || process.exit(1), lookMs).unref();
}

const pulse = new Int32Array(new SharedArrayBuffer(4));
setInterval(() => Atomics.add(pulse, 0, 1), lookMs).unref();

/**
 * Counts the seconds without a beat by itself: neither a machine that slept nor a process that was stopped is to blame
 * on a test.
 */
const watching = `
  const { parentPort, workerData: pulse } = require('node:worker_threads');
  let test, last, held, before;
  parentPort.on('message', (message) => { test = message; last = undefined; });
  setInterval(() => {
    const beat = Atomics.load(pulse, 0);
    if (beat !== last) [last, held, before] = [beat, 0, process.cpuUsage()];
    held += 1;
    const { user, system } = process.cpuUsage(before);
    const { path, processor, all } = test ?? {};
    if (test === undefined || (held < all && user + system < processor * 1e6)) return;
    require('node:fs').writeSync(2, 'FAIL ' + path + ' holds the event loop for ' + held + ' s: its process is killed\\n');
    process.kill(process.pid, 'SIGKILL');
  }, 1000);
`;
const watch = new Worker(watching, { eval: true, workerData: pulse });
watch.unref();

/** The worker's own globals: what a test file changes of them is put back after it. */
export default class Environment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;
  fakeTimersModern;
  #env = { ...process.env };
  // oxlint-disable-next-line typescript/unbound-method -- put back as it was
  #exit = process.exit;
  #exitCode = process.exitCode;

  constructor({ projectConfig }, { testPath }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    const { processor, all } = projectConfig.testEnvironmentOptions.longestHoldSeconds;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
    watch.postMessage({ path: testPath, processor, all });
  }

  async setup() {
    // Types became spaces, so a position needs no source map.
    delete Error.prepareStackTrace;
  }

  async teardown() {
    this.fakeTimersModern.dispose();
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) delete process.env[name];
    Object.assign(process.env, this.#env);
    process.exit = this.#exit;
    process.exitCode = this.#exitCode;
  }

  exportConditions() {
    return [];
  }

  getVmContext() {
    return null;
  }
}
