import type { ControllerDefinition } from '#pkg/runtime/index';
import { Collector, type CollectorOptions } from './collector.ts';

/** A sweep or a large owner may have very many objects to look at. Milliseconds. */
const timeoutMs = 600_000;

/**
 * Deletes what nobody owns any more, by the owners that objects name in their metadata. Deletions in the foreground and
 * orphaning wait for it by a finalizer.
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
