import { totalmem } from 'node:os';

const minMb = 128;
const maxMb = 2048;

/**
 * The value of PostgreSQL's setting `shared_buffers`: an eighth of the memory that this process may use, from 128 MB to
 * 2 GB. The memory is allocated as pages are read. A page found there costs a tenth of one that has to be read, and
 * verified, from the file system's cache.
 */
export function sharedBuffers(memoryBytes: number = usableMemory()): string {
  const eighth = Math.floor(memoryBytes / 8 / 1024 / 1024);
  return `${Math.max(minMb, Math.min(maxMb, eighth))}MB`;
}

/** The memory of the machine, or the limit of the container. */
function usableMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
