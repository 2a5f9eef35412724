// Preloaded into the measured server: reports the live objects of its process to its parent.
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

/** Finalizers free objects for the next collection: one is not enough. */
async function settledHeap() {
  for (let i = 0; i < 4; i += 1) {
    collect();
    await delay(50);
  }
  return process.memoryUsage();
}

function count(resources, name) {
  return resources.filter((resource) => resource === name).length;
}

async function report() {
  const { heapUsed, rss } = await settledHeap();
  const resources = process.getActiveResourcesInfo();
  process.send({
    heapBytes: heapUsed,
    residentBytes: rss,
    timers: count(resources, 'Timeout'),
    portsOfWorkers: count(resources, 'MessagePort'),
    // Workers, in addition to their ports.
    workers: count(resources, 'Worker'),
    watchers: count(resources, 'FSEvent'),
    connections: count(resources, 'TCPSocketWrap') + count(resources, 'PipeWrap'),
    resources: resources.length,
    descriptors: readdirSync('/proc/self/fd').length,
    threads: readdirSync('/proc/self/task').length,
    listenersOfProcess: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
  });
}

process.on('message', () => void report());
process.channel?.unref();
