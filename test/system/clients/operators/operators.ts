import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClientEvent } from '../../../../pkg/apimachinery/index.ts';
import { RestClient } from '../../../../pkg/client/index.ts';
import { registerModel, type ObjectOf } from '../../../../pkg/index.ts';
import { SeededRandom } from '../../harness/seeded-random.ts';
import type { ClientCase } from '../client-case.ts';
import type { ClientSite } from '../site/client-site.ts';
import { buildGoOperator, missingForGo } from './go-operator.ts';
import { OperatorProcess, type OperatorCommand } from './operator-process.ts';
import { namespace, priceOf, Shop, shopLabel } from './shop-model.ts';
import { TermHistory } from './term-history.ts';

type ShopObject = ObjectOf<typeof Shop>;

const priceOperator = fileURLToPath(new URL('price-operator.ts', import.meta.url));
const apiVersion = 'clients.example.com/v1';
const shopCount = 60;
const writers = 6;
/** Before a leader is killed. Milliseconds. */
const pauseMs = { min: 200, max: 3000 };

/**
 * An operator in Go, on client-go with streaming lists, and one in TypeScript work on the same objects, two instances of
 * each. Objects change all the time while instances are killed and restarted, and once the server.
 */
export const operators: ClientCase = {
  missing: ({ peer }) => Promise.resolve(missingForGo(peer)),
  run: async (site, { peer, kills, seed }) => {
    const go = await buildGoOperator(peer!);
    process.once('exit', () => OperatorProcess.killAll());
    try {
      await runOperators(site, { go, kills, random: new SeededRandom(seed) });
    } finally {
      OperatorProcess.killAll();
    }
  },
};

interface OperatorsRun {
  go: string;
  kills: number;
  random: SeededRandom;
}

async function runOperators(site: ClientSite, { go, kills, random }: OperatorsRun): Promise<void> {
  const { url, token } = site.server;
  const client = RestClient.connect({ url, token });
  await registerModel(client, Shop);
  const stopping = new AbortController();
  const histories = { stocked: new TermHistory('stock-operator'), priced: new TermHistory('price-operator') };
  const following = follow(client, histories, stopping.signal);
  const writing = Promise.all(
    Array.from({ length: writers }, (_, i) => changeShops(client, random.fork(`writer ${i}`), stopping.signal)),
  );
  const commands: ((identity: string) => OperatorCommand)[] = [
    (identity) => ({ file: go, args: ['-kubeconfig', site.kubeconfig, '-identity', identity] }),
    (identity) => ({
      file: process.execPath,
      args: ['--import', 'tsx', priceOperator],
      env: { URL: url, TOKEN: token, IDENTITY: identity },
    }),
  ];
  const stockLogs: string[] = [];
  let started = 0;
  const start = (kind: number): OperatorProcess => {
    started += 1;
    const identity = `${kind === 0 ? 'stock' : 'price'}-${started}`;
    const logFile = join(site.folder, `${identity}.log`);
    if (kind === 0) stockLogs.push(logFile);
    return new OperatorProcess(identity, commands[kind]!(identity), logFile);
  };
  const running = [start(0), start(1), start(0), start(1)];
  const leading = (kind: number): number => {
    const { leader } = kind === 0 ? histories.stocked : histories.priced;
    return running.findIndex(({ identity }) => identity === leader);
  };
  for (let kill = 0; kill < kills; kill += 1) {
    await site.until('both operators work', () => leading(0) !== -1 && leading(1) !== -1);
    await delay(random.between(pauseMs.min, pauseMs.max));
    if (kill === Math.floor(kills / 2)) await site.restartServer();
    // Each operator loses its leader in turn.
    const index = leading(kill % 2);
    await running[index]!.end(random.chance(0.3) ? 'SIGTERM' : 'SIGKILL');
    running[index] = start(kill % 2);
  }
  await site.until('both operators work', () => leading(0) !== -1 && leading(1) !== -1);
  stopping.abort();
  const changes = (await writing).reduce((sum, each) => sum + each, 0);
  site.report.say(`${changes} changes, ${kills} instances ended, ${started} started`);
  await site.until('every object is reconciled', async () => (await unreconciled(client)).length === 0);
  site.checkEqual('every object is reconciled', await unreconciled(client), []);
  await site.until('no item is left over', async () => (await leftOver(site, client)).length === 0);
  site.checkEqual('no item is left over', await leftOver(site, client), []);
  await following;
  for (const [field, { violations, terms, leaders }] of Object.entries(histories)) {
    site.check(`${field}: one instance led at a time`, violations.length === 0, violations.slice(0, 3).join('; '));
    site.check(`${field}: another instance took over`, leaders.size > 1, `${terms} terms of ${[...leaders].join()}`);
    site.report.say(`${field}: ${terms} terms of ${leaders.size} instances`);
  }
  const logs = await Promise.all(stockLogs.map((file) => readFile(file, 'utf8')));
  for (const resource of ['shops', 'configmaps'])
    site.check(
      `informers read ${resource} by streaming lists`,
      logs.every((log) => log.includes(`streaming list of ${resource}: 200`)),
    );
  const events = await site.names(`/api/v1/namespaces/${namespace}/events?fieldSelector=reason=Stocked`);
  site.check('the operator in Go recorded events', events.length > 0);
  await Promise.all(running.map((operator) => operator.end('SIGTERM')));
  client.close();
}

/** Reads every change of a shop once, in the order of revisions. */
async function follow(
  client: RestClient,
  histories: Readonly<Record<'stocked' | 'priced', TermHistory>>,
  signal: AbortSignal,
): Promise<void> {
  let { resourceVersion } = await client.list(Shop, { namespace });
  const note = (event: ClientEvent<ShopObject>): void => {
    resourceVersion = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
    if (event.type === 'BOOKMARK' || event.type === 'DELETED') return;
    const { metadata, status } = event.object;
    for (const field of ['stocked', 'priced'] as const) histories[field].note(metadata.uid, status?.[field]);
  };
  while (!signal.aborted) {
    try {
      for await (const event of await client.watch(Shop, { namespace, resourceVersion, signal })) note(event);
    } catch {
      // The server is not there for a moment.
      await delay(200);
    }
  }
}

/** Creates, changes and deletes shops until the signal fires; returns how often. */
async function changeShops(client: RestClient, random: SeededRandom, signal: AbortSignal): Promise<number> {
  let changes = 0;
  while (!signal.aborted) {
    const key = { namespace, name: `shop-${random.below(shopCount)}` };
    const spec = { items: random.below(6), text: `text ${random.below(1000)}` };
    try {
      if (random.chance(0.15)) await client.delete(Shop, key);
      else if (random.chance(0.3)) await client.create(Shop, { apiVersion, kind: 'Shop', metadata: key, spec });
      else await client.patch(Shop, key, { type: 'merge', patch: { spec } });
      changes += 1;
    } catch {
      // It exists already, or does not exist, or the server is not there for a moment.
      await delay(50);
    }
    await delay(10);
  }
  return changes;
}

/** What is wrong with the status and the items of the shops. */
async function unreconciled(client: RestClient): Promise<string[]> {
  const wrong: string[] = [];
  for (const { metadata, spec, status } of (await client.list(Shop, { namespace })).items) {
    const { stocked, priced, conditions = [] } = status ?? {};
    if (stocked?.generation !== metadata.generation || stocked?.items !== spec.items)
      wrong.push(`${metadata.name} is not stocked: ${JSON.stringify(stocked)}`);
    if (priced?.generation !== metadata.generation || priced?.price !== priceOf(spec.text))
      wrong.push(`${metadata.name} is not priced: ${JSON.stringify(priced)}`);
    if (conditions.length !== 1 || conditions[0]!.observedGeneration !== metadata.generation)
      wrong.push(`${metadata.name} has the conditions ${JSON.stringify(conditions)}`);
  }
  return wrong;
}

interface Item {
  metadata: { name: string; labels: Record<string, string> };
  data: { text: string };
}

/** Items that no shop wants, and wanted ones that are missing or have another text. */
async function leftOver(site: ClientSite, client: RestClient): Promise<string[]> {
  const wanted = new Map<string, string>();
  for (const { metadata, spec } of (await client.list(Shop, { namespace })).items)
    for (let item = 0; item < spec.items; item += 1) wanted.set(`${metadata.name}-${item}`, spec.text);
  const found = await site.find<{ items: Item[] }>(
    `/api/v1/namespaces/${namespace}/configmaps?labelSelector=${encodeURIComponent(shopLabel)}`,
  );
  const wrong = found!.items.filter(({ metadata, data }) => wanted.get(metadata.name) !== data.text);
  const names = new Set(found!.items.map(({ metadata }) => metadata.name));
  return [...wrong.map(({ metadata }) => metadata.name), ...[...wanted.keys()].filter((name) => !names.has(name))];
}
