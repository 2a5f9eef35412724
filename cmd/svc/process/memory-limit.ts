import { totalmem } from 'node:os';

/**
 * Bytes that this process may take before the system ends it: of its control group, of whichever version, or of the
 * machine.
 */
export function memoryLimit(): number {
  // A control group without a limit tells none, or one that no machine has.
  const ofGroup = process.constrainedMemory();
  return ofGroup > 0 ? Math.min(ofGroup, totalmem()) : totalmem();
}
