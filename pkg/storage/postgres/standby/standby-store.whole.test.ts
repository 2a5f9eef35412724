import { afterAll, beforeAll } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { StreamingStandby } from '../../../testenv/streaming-standby.ts';
import { runStoreTests } from '../../storetest/run-store-tests.ts';
import { sampleKeyEvaluator } from '../../storetest/sample-key-evaluator.ts';
import type { StorePair } from '../../storetest/store-pair.ts';
import type { ObjectReader, Store } from '../../store.ts';
import { PostgresStore } from '../postgres-store.ts';

let servers: StreamingStandby;
let databases: Database[] = [];
let stores: PostgresStore[] = [];
let pair: StorePair | undefined;

beforeAll(async () => {
  servers = await StreamingStandby.start();
  const connect = (connection: typeof servers.primary): Promise<Database> =>
    Database.connect({ connection, log: silentLog });
  databases = await Promise.all([servers.primary, servers.primary, servers.standby].map(connect));
  const [first, second, readDatabase] = databases;
  const options = { log: silentLog, keyEvaluator: sampleKeyEvaluator };
  stores = await Promise.all([
    PostgresStore.open({ ...options, database: first!, readDatabase }),
    PostgresStore.open({ ...options, database: second! }),
  ]);
  pair = { store: readingByReads(stores[0]!), other: stores[1]! };
});

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await Promise.all(databases.map((database) => database.close()));
  await servers?.stop();
});

const reads: ReadonlySet<unknown> = new Set<keyof ObjectReader>(['get', 'page', 'chunk', 'stream']);

/** A store whose own reads are those for requests. */
function readingByReads(store: PostgresStore): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const owner = reads.has(name) ? target.reads : target;
      const value: unknown = Reflect.get(owner, name);
      return typeof value === 'function' ? value.bind(owner) : value;
    },
  });
}

runStoreTests('PostgresStore that reads from a standby', () => pair!);
