import type { ControllerDefinition } from '#pkg/runtime/index';
import { Collector, type CollectorOptions } from './collector.ts';

/** A sweep or a large owner may have very many objects to check. Milliseconds. */
const timeoutMs = 600_000;

/**
 * Deletes objects whose owners no longer exist, by the owner references in their metadata. It completes foreground
 * deletion and orphaning, which use finalizers.
 */
export function garbageCollector(options: CollectorOptions): ControllerDefinition {
  return {
    name: 'garbage-collector',
    watches: [],
    indexes: [],
    tuning: { concurrency: 8, timeoutMs },
    begin: () => {
      const collector = new Collector(options);
      return { sources: [collector], reconcile: (request, context) => collector.reconcile(request, context) };
    },
  };
}
