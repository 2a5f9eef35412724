import { getHeapStatistics } from 'node:v8';
import { poolSizes } from '../composition/pool-sizes.ts';
import type { Options } from '../options/option-table.ts';
import { automaticBytes } from '../process/byte-budget.ts';
import { memoryLimit } from '../process/memory-limit.ts';

/**
 * What all workers together may have: each gets its part. Watches and connections of an address are not among them: they
 * stay long with one worker, so the parent counts them exactly. What access management counts is in the database.
 */
const divided = [
  'svc.http.max-connections',
  'svc.http.max-in-flight',
  'svc.http.max-in-flight-per-user',
  'svc.http.max-in-flight-bulk',
  'svc.http.reserved-for-system',
  'svc.http.max-wrong-credentials',
  'svc.http.max-senders',
  'svc.http.max-senders-per-address',
] as const;
const dividedBytes = ['svc.http.max-bytes-in-flight', 'svc.http.max-bytes-in-flight-per-user'] as const;

/** The options of one of several workers, with its part of the limits. Each worker has at least one of everything. */
export function optionsOfWorker(options: Options, { worker, of }: { worker: number; of: number }): Options {
  const poolSize = options['svc.database.pool-size'];
  const parts: { -readonly [name in keyof Options]?: Options[name] } = {
    'svc.database.pool-size': poolSizes({ poolSize, workers: of }).main,
  };
  for (const name of divided) parts[name] = partOf(options[name], worker, of);
  for (const name of dividedBytes) {
    const bytes = options[name];
    if (bytes !== undefined) parts[name] = Math.floor(bytes / of);
  }
  parts['svc.http.max-bytes-in-flight'] ??= automaticBytes({
    memory: memoryLimit() / of,
    heap: getHeapStatistics().heap_size_limit,
  });
  return { ...options, ...parts };
}

/** The parts of a number add up to it; 0, which has another meaning, stays 0. */
function partOf(all: number, worker: number, of: number): number {
  return all === 0 ? 0 : Math.max(1, Math.floor(all / of) + (worker <= all % of ? 1 : 0));
}
