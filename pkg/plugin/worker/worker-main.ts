import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { WorkerStart } from './control-message.ts';
import { exposeCollector } from './heap-collector.ts';
import { PluginThread } from './plugin-thread.ts';
import { Heartbeat } from './heartbeat.ts';

/** The program of a plugin's worker thread. */
const given = workerData as Partial<WorkerStart>;
const start = { ...given } as WorkerStart;
// The plugin sees the same object, and the ports are none of its business.
for (const name of Object.keys(given) as (keyof WorkerStart)[]) delete given[name];
// Nor is this one: whatever is sent by it the host's loop would have to read.
parentPort!.close();

// Stacks name the author's files.
process.setSourceMapsEnabled(true);
// Packages that are CommonJS ask for Node's own modules so, from within the bundle.
Object.assign(globalThis, { require: createRequire(start.module) });

const pulse = new Heartbeat(start.pulse);
const collect = exposeCollector();
const usedMiB = (): number => {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
};
const beat = (): void => {
  const used = usedMiB();
  // What is garbage does not count.
  if (used > start.memoryMiB) collect();
  pulse.beat(used > start.memoryMiB ? usedMiB() : used);
};
beat();
setInterval(beat, Heartbeat.intervalMs).unref();
await new PluginThread(start).load();
