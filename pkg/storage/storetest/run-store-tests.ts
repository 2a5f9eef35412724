import { describe } from '@jest/globals';
import type { Store } from '../store.ts';
import { changeCases } from './change-cases.ts';
import { listCases } from './list-cases.ts';
import { modelCases } from './model-cases.ts';
import { writeCases } from './write-cases.ts';

/** Two stores on one database, as two replicas have them. */
export interface StorePair {
  store: Store;
  other: Store;
}

/** The contract of Store: every implementation passes all of it. `pair` is asked for inside the cases, when it is open. */
export function runStoreTests(implementation: string, pair: () => StorePair): void {
  describe(`Store: ${implementation}`, () => {
    describe('writes', () => writeCases(pair));
    describe('lists', () => listCases(pair));
    describe('changes', () => changeCases(pair));
    describe('models', () => modelCases(pair));
  });
}
