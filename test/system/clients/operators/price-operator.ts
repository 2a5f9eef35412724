/**
 * The operator beside stock-operator.go, written with svc's own controller runtime. It sets status.priced of each Shop,
 * and ends by SIGTERM. Its environment has the server's URL, a token and its identity.
 */
import { RestClient } from '../../../../pkg/client/index.ts';
import { controllerFor, Manager, TaskLeases, type Log } from '../../../../pkg/runtime/index.ts';
import { namespace, priceOf, Shop } from './shop-model.ts';

const { URL: url = '', TOKEN: token = '', IDENTITY: identity = '' } = process.env;
const write = (level: string) => (facts: object | string, message?: string) =>
  void process.stdout.write(`${JSON.stringify({ level, facts, message })}\n`);
const log: Log = { debug: () => undefined, info: write('info'), warn: write('warn'), error: write('error') };
const client = RestClient.connect({ url, token });
const leases = new TaskLeases({
  client,
  log,
  identity,
  namespace,
  group: 'price-operator',
  durationMs: 4000,
  deadlineMs: 3000,
  retryMs: 1000,
  settleMs: 1000,
});
const manager = new Manager({
  client,
  log,
  leases,
  controllers: [
    controllerFor(Shop)
      .named('price')
      .reconcile(async (key, { client: writer, lister, fence }) => {
        const shop = lister(Shop).get(key);
        if (shop === undefined || shop.status?.priced?.generation === shop.metadata.generation) return;
        const { generation = 0 } = shop.metadata;
        const priced = { generation, by: identity, term: fence!.transitions, price: priceOf(shop.spec.text) };
        await writer.patchStatus(Shop, key, { type: 'merge', patch: { status: { priced } } });
      }),
  ],
});
manager.start();
leases.start();

async function stop(): Promise<void> {
  await leases.stop();
  await manager.stop();
  client.close();
  process.exit(0);
}

process.once('SIGTERM', () => void stop());
