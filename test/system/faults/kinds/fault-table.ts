import type { Fault } from '../fault.ts';
import { backendFaults } from './backend-faults.ts';
import { clientFaults } from './client-faults.ts';
import { lockFaults } from './lock-faults.ts';
import { modelFaults } from './model-faults.ts';
import { networkFaults } from './network-faults.ts';
import { postgresFaults } from './postgres-faults.ts';
import { replicaFaults } from './replica-faults.ts';
import { standbyFaults } from './standby-faults.ts';

/** All kinds of faults. */
export const faults: readonly Fault[] = [
  ...replicaFaults,
  ...backendFaults,
  ...postgresFaults,
  ...standbyFaults,
  ...networkFaults,
  ...lockFaults,
  ...modelFaults,
  ...clientFaults,
];
