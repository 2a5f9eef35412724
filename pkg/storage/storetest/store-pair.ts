import type { Store } from '../store.ts';

/** Two stores on one database, like those of two replicas. */
export interface StorePair {
  store: Store;
  other: Store;
}
