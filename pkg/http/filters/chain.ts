import type { Filter, Handler } from '../request/request-context.ts';

/** One handler of many concerns; the first filter is the outermost, so the list reads as a request passes. */
export function chain(filters: readonly Filter[], handler: Handler): Handler {
  return filters.reduceRight((next, filter) => filter(next), handler);
}
