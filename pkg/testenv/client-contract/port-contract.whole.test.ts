import { afterAll, beforeAll } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { portTransports } from './transport.ts';
import { prepareContract } from './note-model.ts';
import { runClientContract } from './run-client-contract.ts';

let env: TestEnv | undefined;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  await prepareContract(env);
});

afterAll(() => env?.stop());

for (const transport of portTransports) runClientContract(transport, () => env!);
