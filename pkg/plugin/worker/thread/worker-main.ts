import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { WorkerStart } from '../control-message.ts';
import { exposeCollector } from '../heap-collector.ts';
import { PluginThread } from './plugin-thread.ts';
import { Heartbeat } from '../heartbeat.ts';

/** The program of a plugin's worker thread. */
const given = workerData as Partial<WorkerStart>;
const start = { ...given } as WorkerStart;
// The plugin sees the same `workerData`, and must not see the ports.
for (const name of Object.keys(given) as (keyof WorkerStart)[]) delete given[name];
// The host's event loop would have to read every message that the plugin sends by it.
parentPort!.close();

// Stack traces name the author's files.
process.setSourceMapsEnabled(true);
// CommonJS packages in the bundle load Node's own modules with `require`.
Object.assign(globalThis, { require: createRequire(start.module) });

const pulse = new Heartbeat(start.pulse);
const collect = exposeCollector();
const usedMiB = (): number => {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
};
const beat = (): void => {
  const used = usedMiB();
  // Garbage does not count.
  if (used > start.memoryMiB) collect();
  pulse.beat(used > start.memoryMiB ? usedMiB() : used);
};
beat();
setInterval(beat, Heartbeat.intervalMs).unref();
await new PluginThread(start).load();
