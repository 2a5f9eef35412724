import type { Store } from '../store.ts';

/** Two stores on one database, as two replicas have them. */
export interface StorePair {
  store: Store;
  other: Store;
}
