import { conflictFaults } from './conflict-faults.ts';
import { logFaults } from './log-faults.ts';
import type { PlantedFault } from './planted-fault.ts';
import { readFaults } from './read-faults.ts';
import { watchFaults } from './watch-faults.ts';
import { writeFaults } from './write-faults.ts';

export const plantedFaults: readonly PlantedFault[] = [
  ...logFaults,
  ...writeFaults,
  ...conflictFaults,
  ...readFaults,
  ...watchFaults,
];
