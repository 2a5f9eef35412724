import { getHeapStatistics } from 'node:v8';
import { ByteBudget } from '#pkg/http/index';
import { memoryLimit } from './memory-limit.ts';
import type { Options } from '../options/option-table.ts';

/**
 * Shares of the process's memory limit and of the heap: the rest is for the idle process, watches, and uncollected
 * garbage.
 */
const shareOfLimit = 0.3;
const shareOfHeap = 0.55;
/** The minimum for two large bodies of different users. */
const minBytes = 96 * 1024 ** 2;
const shareOfParsed = 1 / 3;

/** The default for the total memory of requests, in bytes. */
export function automaticBytes({ memory, heap }: { memory: number; heap: number }): number {
  return Math.max(minBytes, Math.floor(Math.min(memory * shareOfLimit, heap * shareOfHeap)));
}

/** The budget that all listeners of this process share. */
export function newByteBudget(options: Options): ByteBudget {
  const all =
    options['svc.http.max-bytes-in-flight'] ??
    automaticBytes({ memory: memoryLimit(), heap: getHeapStatistics().heap_size_limit });
  const perUser = options['svc.http.max-bytes-in-flight-per-user'];
  const parsed = Math.floor(all * shareOfParsed);
  return new ByteBudget({
    total: all - parsed,
    parsed,
    ...(perUser === undefined ? {} : { perUser }),
    maxWaitMs: options['svc.http.max-wait'],
  });
}
