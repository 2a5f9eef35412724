import { totalmem } from 'node:os';

const smallestMb = 128;
const largestMb = 2048;

/**
 * How much PostgreSQL may keep of its tables, as its setting `shared_buffers`: an eighth of the memory this process may
 * use, from 128 MB to 2 GB. It takes memory as it reads. A page found there costs a tenth of one that has to be taken,
 * and checked, from the file system's cache.
 */
export function sharedBuffers(memoryBytes: number = usableMemory()): string {
  const eighth = Math.floor(memoryBytes / 8 / 1024 / 1024);
  return `${Math.max(smallestMb, Math.min(largestMb, eighth))}MB`;
}

/** The machine's, or what the container is given of it. */
function usableMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
