import { getHeapStatistics } from 'node:v8';
import { collectDefaultMetrics, type Registry } from 'prom-client';
import { registerReading } from '#pkg/http/index';
import { memoryLimit } from '../process/memory-limit.ts';
import { svcVersion } from '../process/svc-version.ts';

/** The role of a process, or of a listener of `svc serve`. */
export type Component = 'apiserver' | 'access-server' | 'controller-manager';

/** The metrics of every process: version, Node, memory limits. One of several workers has its part of the machine. */
export function registerProcessMetrics(registry: Registry, component: Component, workers = 1): void {
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, read: () => number): void =>
    registerReading({ registry, type: 'gauge', name, help, read });
  registerReading({
    registry,
    type: 'gauge',
    name: 'svc_build_info',
    help: 'Always 1; which version this is, and what it is there for.',
    read: () => [{ labels: { version: svcVersion(), component }, value: 1 }],
  });
  gauge(
    'svc_memory_limit_bytes',
    'Memory this process may take before the system ends it: of its container, or of the machine.',
    () => memoryLimit() / workers,
  );
  gauge('svc_heap_limit_bytes', "The largest heap Node's own limit allows.", () => getHeapStatistics().heap_size_limit);
}
