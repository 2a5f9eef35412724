import { describe } from '@jest/globals';
import { changeCases } from './change-cases.ts';
import { idempotencyCases } from './idempotency-cases.ts';
import { computedCases } from './computed-cases.ts';
import { fenceCases } from './fence-cases.ts';
import { listCases } from './list-cases.ts';
import { managedCases } from './managed-cases.ts';
import { modelCases } from './model-cases.ts';
import { quotaCases } from './quota-cases.ts';
import type { StorePair } from './store-pair.ts';
import { storeWriteCases } from './write-cases.ts';

/**
 * The contract of Store: every implementation must pass all cases. The cases call `pair` when it is open; its stores
 * compute keys with `sampleKeyEvaluator`.
 */
export function runStoreTests(implementation: string, pair: () => StorePair): void {
  describe(`Store: ${implementation}`, () => {
    describe('writes', () => storeWriteCases(pair));
    describe('writes with an idempotency key', () => idempotencyCases(pair));
    describe('fenced writes', () => fenceCases(pair));
    describe('managed fields', () => managedCases(pair));
    describe('quotas', () => quotaCases(pair));
    describe('lists', () => listCases(pair));
    describe('changes', () => changeCases(pair));
    describe('models', () => modelCases(pair));
    describe('computed keys', () => computedCases(pair));
  });
}
