import { totalmem } from 'node:os';

/**
 * Bytes that this process may use before the system kills it: the limit of its control group, of any version, or the
 * machine's memory.
 */
export function memoryLimit(): number {
  // A control group without a limit reports none, or more than any machine has.
  const ofGroup = process.constrainedMemory();
  return ofGroup > 0 ? Math.min(ofGroup, totalmem()) : totalmem();
}
