import pino from 'pino';
import { Database, silentLog } from '#pkg/database/index';
import { PostgresStore } from '#pkg/storage/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { createPlatformRegistry, type PlatformRegistry } from '../platform-registry.ts';

export interface Replica {
  store: PostgresStore;
  registry: PlatformRegistry;
}

export interface ReplicaPair {
  one: Replica;
  two: Replica;
  /** The database of both. */
  connection: TestDatabase['connection'];
  /** Starts another replica on the same database; `close` stops it, too. */
  start(): Promise<Replica>;
  close(): Promise<void>;
}

/** Starts the registries of two servers on one new database. */
export async function startReplicas(): Promise<ReplicaPair> {
  const testDatabase = await createTestDatabase();
  const log = pino({ level: 'silent' });
  const undo: (() => Promise<void>)[] = [() => testDatabase.drop()];
  const start = async (): Promise<Replica> => {
    const database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
    undo.unshift(() => database.close());
    const store = await PostgresStore.open({ database, log: silentLog });
    undo.unshift(() => store.close());
    const registry = await createPlatformRegistry({ store, log });
    undo.unshift(() => registry.stop());
    return { store, registry };
  };
  const close = async (): Promise<void> => {
    for (const each of undo.splice(0)) await each();
  };
  return { one: await start(), two: await start(), connection: testDatabase.connection, start, close };
}
