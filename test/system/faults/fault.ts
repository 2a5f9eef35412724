import type { TestCluster } from './test-cluster.ts';
import type { SeededRandom } from '../harness/seeded-random.ts';

/** Makes good again what a fault did; resolves when that is done. */
export type Heal = () => Promise<void> | void;

/** One kind of fault: a row of the table in docs/reliability.md. */
export interface Fault {
  name: string;
  /** One sentence: what happens, and what must hold in spite of it. */
  intent: string;
  /** How long it lasts, in milliseconds; a heal that the fault does by itself may come later. Default 2000. */
  holdMs?: number;
  /** Never together with another: what both would do need not be survived. */
  isAlone?: true;
  /** Why it cannot be done here; undefined where it can. */
  unavailable?: (cluster: TestCluster) => string | undefined;
  inject(cluster: TestCluster, random: SeededRandom): Promise<Heal | void>;
}
