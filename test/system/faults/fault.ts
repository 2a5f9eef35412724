import type { TestCluster } from './test-cluster.ts';
import type { SeededRandom } from '../harness/seeded-random.ts';

/** Undoes a fault; resolves when that is done. */
export type Heal = () => Promise<void> | void;

/** One kind of fault: a row of the table in docs/reliability.md. */
export interface Fault {
  name: string;
  /** One sentence: what happens, and what must still hold. */
  intent: string;
  /** Duration in milliseconds; a fault that ends by itself may last longer. Default 2000. */
  holdMs?: number;
  /** Never combined with another fault: their combined effects need not be survived. */
  isAlone?: true;
  /** Why it cannot run here; undefined if it can. */
  unavailable?: (cluster: TestCluster) => string | undefined;
  inject(cluster: TestCluster, random: SeededRandom): Promise<Heal | void>;
}
