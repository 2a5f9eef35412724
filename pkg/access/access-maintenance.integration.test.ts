import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, migrate, silentLog, type DatabaseLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../testenv/test-database.ts';
import { addUser } from './accesstest/add-user.ts';
import { AccessDatabase } from './access-database.ts';
import { accessMigrations } from './migrations.ts';
import { AccessMaintenance } from './access-maintenance.ts';

let home: TestDatabase;
let database: Database;
let access: AccessDatabase;
let user: string;
beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
  access = new AccessDatabase(database);
  user = await addUser(access, { username: 'mia' });
});
afterAll(async () => {
  await database.close();
  await home.drop();
});

/** Expired and unexpired rows, by table. */
const fillings: Readonly<Record<string, string>> = {
  bearer_tokens:
    "INSERT INTO access.bearer_tokens (hash, user_id, expires) SELECT sha256(i::text::bytea), '$user', now() + i * interval '1 minute' FROM generate_series(-25, 2) i",
  sessions:
    "INSERT INTO access.sessions (hash, user_id, expires) SELECT sha256(i::text::bytea), '$user', now() + i * interval '1 minute' FROM generate_series(-25, 2) i",
  signature_uses:
    "INSERT INTO access.signature_uses (hash, expires) SELECT sha256(i::text::bytea), now() + i * interval '1 minute' FROM generate_series(-25, 2) i",
  login_failures:
    "INSERT INTO access.login_failures (key, count, since, expires) SELECT i::text, 1, now(), now() + i * interval '1 minute' FROM generate_series(-25, 2) i",
  throttles:
    "INSERT INTO access.throttles (key, minute, used) SELECT i::text, date_trunc('minute', now()) + i * interval '3 minutes', 1 FROM generate_series(-25, 2) i",
  login_logs:
    "INSERT INTO access.login_logs (username, type, remote_addr, user_agent, is_success, datetime) SELECT '', '', '', '', true, now() - interval '30 days' + i * interval '1 minute' FROM generate_series(-25, 2) i",
  operate_logs:
    "INSERT INTO access.operate_logs (username, action, resource_type, resource, datetime) SELECT '', '', '', '', now() - interval '30 days' + i * interval '1 minute' FROM generate_series(-25, 2) i",
};

async function fill(): Promise<void> {
  for (const [table, statement] of Object.entries(fillings)) {
    await database.pool.query(`TRUNCATE access.${table}`);
    await database.pool.query(statement.replace('$user', user));
  }
}

async function counts(): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const table of Object.keys(fillings))
    found[table] = (await database.pool.query(`SELECT 1 FROM access.${table}`)).rows.length;
  return found;
}

/** Rows left after a cleanup; the row of 0 minutes is expired, as time has passed. */
const left = {
  bearer_tokens: 2,
  sessions: 2,
  signature_uses: 2,
  login_failures: 2,
  throttles: 3,
  login_logs: 2,
  operate_logs: 2,
};

test('deletes only expired rows, in as many statements as needed, also with several concurrent replicas', async () => {
  await fill();
  const options = { database: access, log: silentLog, auditRetentionDays: 30, batch: 4 };
  await Promise.all([new AccessMaintenance(options).clean(), new AccessMaintenance(options).clean()]);
  expect(await counts()).toEqual(left);
});

test('runs repeatedly until it is stopped', async () => {
  await fill();
  const maintenance = new AccessMaintenance({ database: access, log: silentLog, auditRetentionDays: 30, everyMs: 1 });
  maintenance.start();
  maintenance.start();
  for (let round = 0; round < 2; round += 1) {
    while ((await counts())['sessions'] !== 2) await new Promise(setImmediate);
    await fill();
  }
  await maintenance.stop();
  await fill();
  // A read takes many times as long as the interval of the rounds.
  const before = await counts();
  expect(before['sessions']).toBe(28);
  expect(await counts()).toEqual(before);
});

test('a failed round is logged, and the next one follows', async () => {
  const away = await Database.connect({ connection: home.connection, log: silentLog });
  const broken = new AccessDatabase(away);
  await away.close();
  let onWarning = (): void => undefined;
  const twice = new Promise<void>((resolve) => {
    let rounds = 0;
    onWarning = () => {
      rounds += 1;
      if (rounds === 2) resolve();
    };
  });
  const log: DatabaseLog = { ...silentLog, warn: () => onWarning() };
  const maintenance = new AccessMaintenance({ database: broken, log, everyMs: 1 });
  maintenance.start();
  await twice;
  await maintenance.stop();
});
