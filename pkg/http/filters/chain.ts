import type { Filter, Handler } from '../request/request-context.ts';

/**
 * Combines filters and a handler; the first filter is the outermost, so the list reads in the order in which a request
 * passes.
 */
export function chain(filters: readonly Filter[], handler: Handler): Handler {
  return filters.reduceRight((next, filter) => filter(next), handler);
}
