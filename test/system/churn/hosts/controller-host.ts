/**
 * One host with controllers: started by HostProcess with the server's URL, a token, its identity and the number of
 * controllers as its environment. It ends by SIGTERM, and answers the message `heap` with the bytes of its heap.
 */
import { RestClient } from '../../../../pkg/client/index.ts';
import { controllerFor, Manager, TaskLeases, type Log } from '../../../../pkg/runtime/index.ts';
import { Job, jobName, leaseGroup, leaseTimes } from './job-model.ts';

const { URL: url = '', TOKEN: token = '', IDENTITY: identity = '', CONTROLLERS: controllers = '' } = process.env;
const quiet = (): void => undefined;
const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const client = RestClient.connect({ url, token });
const leases = new TaskLeases({ client, log, identity, namespace: 'default', group: leaseGroup, ...leaseTimes });
const manager = new Manager({
  client,
  log,
  leases,
  controllers: Array.from({ length: Number(controllers) }, (_, i) => {
    const name = jobName(i);
    return controllerFor(Job)
      .named(name)
      .withPredicate(({ object }) => object.metadata.name === name)
      .reconcile(async (key, context) => {
        const job = context.lister(Job).get(key);
        if (job === undefined || job.status?.handled === job.spec.number) return;
        const status = { handled: job.spec.number, host: identity, term: context.fence!.transitions };
        await context.client.patchStatus(Job, key, { type: 'merge', patch: { status } });
      });
  }),
});
manager.start();
leases.start();

async function stop(): Promise<void> {
  await leases.stop();
  await manager.stop();
  client.close();
  process.disconnect();
}

process.once('SIGTERM', () => void stop());
process.on('message', () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage().heapUsed);
});
