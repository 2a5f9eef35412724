import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { startAccessTest } from '../accesstest/start-access-test.ts';
import { AccessDatabase } from '../access-database.ts';
import { accessMigrations } from '../migrations.ts';
import { SharedThrottle } from './shared-throttle.ts';

let home: TestDatabase;
let database: Database;
beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
});
afterEach(() => database.pool.query('TRUNCATE access.throttles'));
afterAll(async () => {
  await database.close();
  await home.drop();
});

const newThrottle = (options: Partial<ConstructorParameters<typeof SharedThrottle>[0]> = {}): SharedThrottle =>
  new SharedThrottle({ database: new AccessDatabase(database), log: silentLog, ...options });
const minute = async (): Promise<unknown> =>
  (await database.pool.query<{ minute: string }>("SELECT date_trunc('minute', now())::text AS minute")).rows[0]!.minute;

/** Runs `work` within one minute of the database's clock; repeats it if a new minute began meanwhile. */
async function withinOneMinute<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    await database.pool.query('TRUNCATE access.throttles');
    const before = await minute();
    const result = await work();
    if ((await minute()) === before) return result;
  }
}

async function passedOf(asked: readonly Promise<number | undefined>[]): Promise<number> {
  return (await Promise.all(asked)).filter((seconds) => seconds === undefined).length;
}

test('allows exactly the limit within a minute, and says when to retry', async () => {
  const { passed, seconds } = await withinOneMinute(async () => {
    const throttle = newThrottle({ anonymous: 100 });
    const asked = Array.from({ length: 150 }, () => throttle.take('ip:192.0.2.1'));
    return { passed: await passedOf(asked), seconds: await throttle.take('ip:192.0.2.1') };
  });
  expect(passed).toBe(100);
  expect(Number.isInteger(seconds) && seconds! >= 1 && seconds! <= 60).toBe(true);
});

test('counts keys and kinds separately, and the addresses of an IPv6 network together', async () => {
  const passed = await withinOneMinute(async () => {
    const throttle = newThrottle({ anonymous: 3, user: 5 });
    const take = (key: string): Promise<number> => passedOf(Array.from({ length: 9 }, () => throttle.take(key)));
    const network = await passedOf(Array.from({ length: 9 }, (_, i) => throttle.take(`ip:2001:db8::${i}`)));
    return [await take('ip:a'), await take('ip:b'), await take('user:a'), network];
  });
  expect(passed).toEqual([3, 3, 5, 3]);
});

test('replicas together allow no more than the limit, and hardly less', async () => {
  const passed = await withinOneMinute(async () => {
    const replicas = [newThrottle({ user: 512 }), newThrottle({ user: 512 }), newThrottle({ user: 512 })];
    return passedOf(Array.from({ length: 900 }, (_, i) => replicas[i % 3]!.take('user:mia')));
  });
  expect(passed).toBeLessThanOrEqual(512);
  // Each replica may have unused requests of its first block.
  expect(passed).toBeGreaterThan(512 - 3 * 16);
});

test('queries the database for few of the requests', async () => {
  const queries = await withinOneMinute(async () => {
    const access = new AccessDatabase(database);
    let count = 0;
    access.pool.on('acquire', () => {
      count += 1;
    });
    const throttle = newThrottle({ database: access, user: 4096 });
    for (let i = 0; i < 2048; i += 1) await throttle.take('user:mia');
    return count;
  });
  expect(queries).toBeLessThan(30);
});

test('counts locally while the database is unavailable, up to the exact limit, and warns once', async () => {
  const away = await Database.connect({ connection: home.connection, log: silentLog });
  const access = new AccessDatabase(away);
  await away.close();
  const { passed, complaints } = await withinOneMinute(async () => {
    const said: string[] = [];
    const throttle = newThrottle({
      database: access,
      anonymous: 50,
      log: { ...silentLog, warn: (_, message) => void said.push(message) },
    });
    return {
      passed: await passedOf(Array.from({ length: 80 }, () => throttle.take('ip:192.0.2.1'))),
      complaints: said,
    };
  });
  expect(passed).toBe(50);
  expect(complaints).toHaveLength(1);
});

test('over HTTP: wrong credentials are counted by address, users by name from any address, and the excess gets 429', async () => {
  const { got: answers, logs } = await withinOneMinute(async () => {
    const server = await startAccessTest({
      operations: () => [],
      throttle: ({ access, log }) => new SharedThrottle({ database: access, log, anonymous: 3, user: 2 }),
    });
    try {
      const as = await server.addUser({ username: 'mia' });
      const other = await server.startReplica();
      const got = [];
      for (const headers of [{}, { Authorization: 'Bearer wrong' }, { Authorization: 'Basic eDp5' }, {}])
        got.push(await server.send('GET', '/api/v1/none/', { headers }));
      for (const headers of [{}, { Authorization: 'Bearer wrong' }])
        got.push(await server.send('GET', '/metrics', { headers }));
      for (const replica of [server, other, server]) got.push(await replica.send('GET', '/api/v1/none/', { as }));
      return { got, logs: server.logs };
    } finally {
      await server.stop();
    }
  });
  expect(answers.map(({ status }) => status)).toEqual([404, 401, 401, 429, 429, 429, 404, 404, 429]);
  // The log names the refused user.
  expect(logs.findLast(({ status }) => status === 429)).toMatchObject({ user: 'mia' });
  expect(answers[3]).toMatchObject({
    headers: { 'retry-after': expect.stringMatching(/^[1-9]\d?$/) },
    json: { code: 'throttled', detail: expect.any(String) },
  });
});
