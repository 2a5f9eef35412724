import { afterAll, beforeAll, describe } from '@jest/globals';
import type { TestEnv } from '../start-test-env.ts';
import type { Contract } from './contract-case.ts';
import type { ClientTransport, OpenTransport } from './transport.ts';
import { endCases } from './end-cases.ts';
import { failureCases } from './failure-cases.ts';
import { readCases } from './read-cases.ts';
import { watchCases } from './watch-cases.ts';
import { clientWriteCases } from './write-cases.ts';

/**
 * The contract of Client: every transport must pass all of it. `env` has two servers; the cases call it after
 * `prepareContract`.
 */
export function runClientContract(transport: ClientTransport, env: () => TestEnv): void {
  describe(`Client: ${transport.name}`, () => {
    let open: OpenTransport | undefined;
    beforeAll(() => {
      open = transport.open({ env: env() });
    });
    afterAll(() => open?.dispose());
    const contract: Contract = { transport: () => open!, client: () => open!.client, namespace: transport.namespace };
    describe('reads', () => readCases(contract));
    describe('writes', () => clientWriteCases(contract));
    describe('failures', () => failureCases(contract));
    describe('watches', () => watchCases(contract));
    describe('ends', () => endCases(transport, env));
  });
}
