import { afterAll, beforeAll, describe } from '@jest/globals';
import type { TestEnv } from '../start-test-env.ts';
import type { Contract } from './contract-case.ts';
import type { Door, OpenDoor } from './door.ts';
import { endCases } from './end-cases.ts';
import { failureCases } from './failure-cases.ts';
import { readCases } from './read-cases.ts';
import { watchCases } from './watch-cases.ts';
import { writeCases } from './write-cases.ts';

/**
 * The contract of Client: every door passes all of it. `env` has two servers; it is asked for inside the cases, after
 * `prepareContract`.
 */
export function runClientContract(door: Door, env: () => TestEnv): void {
  describe(`Client: ${door.name}`, () => {
    let open: OpenDoor | undefined;
    beforeAll(() => {
      open = door.open({ env: env() });
    });
    afterAll(() => open?.dispose());
    const contract: Contract = { door: () => open!, client: () => open!.client, namespace: door.namespace };
    describe('reads', () => readCases(contract));
    describe('writes', () => writeCases(contract));
    describe('failures', () => failureCases(contract));
    describe('watches', () => watchCases(contract));
    describe('ends', () => endCases(door, env));
  });
}
