import { getHeapStatistics } from 'node:v8';
import { ByteBudget } from '#pkg/http/index';
import { memoryLimit } from './memory-limit.ts';
import type { Options } from '../options/option-table.ts';

/**
 * Of what the process may take, and of the heap: the rest is for the process at rest, watches, and what is garbage but
 * not collected yet.
 */
const ofLimit = 0.3;
const ofHeap = 0.55;
/** The least that two large bodies of different users can be worked on with. */
const leastBytes = 96 * 1024 ** 2;
const ofParsed = 1 / 3;

/** What requests may take together by default, in bytes. */
export function automaticBytes({ memory, heap }: { memory: number; heap: number }): number {
  return Math.max(leastBytes, Math.floor(Math.min(memory * ofLimit, heap * ofHeap)));
}

/** The one budget of all listeners of this process. */
export function newByteBudget(options: Options): ByteBudget {
  const all =
    options['svc.http.max-bytes-in-flight'] ??
    automaticBytes({ memory: memoryLimit(), heap: getHeapStatistics().heap_size_limit });
  const perUser = options['svc.http.max-bytes-in-flight-per-user'];
  const parsed = Math.floor(all * ofParsed);
  return new ByteBudget({
    total: all - parsed,
    parsed,
    ...(perUser === undefined ? {} : { perUser }),
    maxWaitMs: options['svc.http.max-wait'],
  });
}
