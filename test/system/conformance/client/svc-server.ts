import { startTestEnv, type TestEnvOptions } from '../../../../pkg/testenv/index.ts';
import { conformanceNamespace, StepClient } from './step-client.ts';

/** A server of ours with the namespace of the suite's objects. No controller deletes objects whose owner is unknown. */
export interface SvcServer {
  client: StepClient;
  stop(): Promise<void>;
}

/** `postgres`: default that of the test run. */
export async function startSvcServer(options: Pick<TestEnvOptions, 'postgres'> = {}): Promise<SvcServer> {
  const env = await startTestEnv(options);
  const client = new StepClient(env);
  const stop = async (): Promise<void> => {
    client.close();
    await env.stop();
  };
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: conformanceNamespace } };
  const { status } = await client.send('POST', '/api/v1/namespaces', namespace);
  if (status === 201) return { client, stop };
  await stop();
  throw new Error(`the namespace was answered with ${status}`);
}
