import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, Notifications, silentLog } from '#pkg/database/index';
import { pollUntil } from '../../../testenv/faults/poll-until.ts';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { ReplicaPresence, changesChannel } from './replica-presence.ts';

let testDatabase: TestDatabase;
let database: Database;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
});

afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
  await database.close();
  await testDatabase.drop();
});

/** Listens like one process. `changes` are the notifications that it takes for changes of other processes. */
async function begin(origin: string): Promise<{ replicas: ReplicaPresence; changes: string[] }> {
  const notifications = new Notifications({ database, log: silentLog });
  const replicas = new ReplicaPresence({ pool: database.pool, notifications, origin, log: silentLog });
  const changes: string[] = [];
  await notifications.start();
  await notifications.on(changesChannel, (payload) => void (replicas.heard(payload) && changes.push(payload)));
  replicas.start();
  stops.push(
    () => notifications.stop(),
    () => replicas.stop(),
  );
  return { replicas, changes };
}

const notify = (payload: string): Promise<unknown> =>
  database.pool.query('SELECT pg_notify($1, $2)', [changesChannel, payload]);

test('a process that gets no answer is alone, until another starts or may have started', async () => {
  const first = await begin('first');
  expect(first.replicas.present).toBe(true);
  await pollUntil(() => !first.replicas.present);

  const second = await begin('second');
  await pollUntil(() => first.replicas.present && second.replicas.present);

  await notify('first');
  await notify('second');
  await pollUntil(() => first.changes.length > 0 && second.changes.length > 0);
  expect([first.changes, second.changes]).toEqual([['second'], ['first']]);
});

test('after a lost connection a process assumes that another started meanwhile', async () => {
  const database2 = await Database.connect({ connection: (await createDatabaseOfItsOwn()).connection, log: silentLog });
  const notifications = new Notifications({ database: database2, log: silentLog });
  const replicas = new ReplicaPresence({ pool: database2.pool, notifications, origin: 'lone', log: silentLog });
  stops.push(
    () => database2.close(),
    () => notifications.stop(),
    () => replicas.stop(),
  );
  await notifications.start();
  await notifications.on(changesChannel, (payload) => void replicas.heard(payload));
  replicas.start();
  await pollUntil(() => !replicas.present);
  await database2.pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
  );
  await pollUntil(() => replicas.present);
  await pollUntil(() => !replicas.present);
});

async function createDatabaseOfItsOwn(): Promise<TestDatabase> {
  const created = await createTestDatabase();
  stops.unshift(() => created.drop());
  return created;
}
