import { afterAll, beforeAll, describe } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import type { Contract } from './contract-case.ts';
import type { ClientTransport, OpenTransport } from './transport.ts';
import { applyCases } from './apply-cases.ts';
import { endCases } from './end-cases.ts';
import { failureCases } from './failure-cases.ts';
import { prepareContract } from './note-model.ts';
import { readCases } from './read-cases.ts';
import { watchCases } from './watch-cases.ts';
import { clientWriteCases } from './write-cases.ts';

/** The contract of Client: every transport must pass all of it. They share two servers. */
export function runClientContract(transports: readonly ClientTransport[]): void {
  let env: TestEnv | undefined;
  beforeAll(async () => {
    env = await startTestEnv({ replicas: 2 });
    await prepareContract(env);
  });
  afterAll(() => env?.stop());
  for (const transport of transports) describeTransport(transport, () => env!);
}

function describeTransport(transport: ClientTransport, env: () => TestEnv): void {
  describe(`Client: ${transport.name}`, () => {
    let open: OpenTransport | undefined;
    beforeAll(() => {
      open = transport.open({ env: env() });
    });
    afterAll(() => open?.dispose());
    const contract: Contract = { transport: () => open!, client: () => open!.client, namespace: transport.namespace };
    describe('reads', () => readCases(contract));
    describe('writes', () => clientWriteCases(contract));
    describe('applies', () => applyCases(contract));
    describe('failures', () => failureCases(contract));
    describe('watches', () => watchCases(contract));
    describe('ends', () => endCases(transport, env));
  });
}
