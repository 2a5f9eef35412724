import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { postgresAccount } from '#pkg/database/embedded/account';
import { Database, EmbeddedPostgres, silentLog, WriteMonitor, type DatabaseFailure } from '#pkg/database/index';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { defaultDataParent } from '../harness/process/postgres-process.ts';
import { DebianPostgres } from './debian-postgres.ts';
import { findInstalledPostgres } from '../harness/process/installed-postgres.ts';

const run = promisify(execFile);
const hasDebian = (await findInstalledPostgres()) !== undefined;
if (!hasDebian && process.env['CI'] !== 'true')
  process.stderr.write(
    "WARNING: Debian's PostgreSQL is not installed, so the trials of writes are made with the embedded one alone.\n",
  );
const testWithDebian = hasDebian || process.env['CI'] === 'true' ? test : test.skip;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(defaultDataParent, 'svc-writes-'));
  await chmod(folder, 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Server {
  database: Database;
  stop: () => Promise<void>;
}

async function embedded(): Promise<Server> {
  const postgres = await EmbeddedPostgres.start({ dataDir: join(folder, 'embedded'), log: silentLog });
  return serverOn(postgres, await Database.connect({ connection: postgres.connection, log: silentLog }));
}

async function debian(): Promise<Server> {
  const postgres = await DebianPostgres.start(join(folder, 'debian'));
  return serverOn(postgres, await Database.connect({ url: postgres.url(), log: silentLog }));
}

function serverOn(postgres: { stop: () => Promise<unknown> }, database: Database): Server {
  const stop = async (): Promise<void> => {
    await database.close();
    await postgres.stop();
  };
  return { database, stop };
}

test('an absent synchronous standby is reported, and its return: the embedded PostgreSQL', async () => {
  const server = await embedded();
  // Less than a trial writes, and less than it writes after a refusal.
  for (const limit of ['-1', '512kB', '8MB']) await tellOfStandby(server, limit);
  await server.stop();
});
testWithDebian("a synchronous standby that is not there is told, and its return: Debian's PostgreSQL", async () => {
  const server = await debian();
  await tellOfStandby(server);
  await server.stop();
});

async function tellOfStandby({ database }: Server, tempFileLimit = '-1'): Promise<void> {
  const reported: string[] = [];
  const log = {
    ...silentLog,
    info: (_details: object, message: string) => void reported.push(message),
    error: (_details: object, message: string) => void reported.push(message),
  };
  const monitor = new WriteMonitor({ database, log, intervalMs: 50, retryMs: 50, answerTimeoutMs: 300 });
  await database.pool.query(`ALTER SYSTEM SET temp_file_limit = '${tempFileLimit}'`);
  await database.pool.query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  await database.pool.query('SELECT pg_reload_conf()');
  monitor.start();
  await pollUntil(async () => monitor.refusal === 'standby_missing', 60_000, 'the monitor sees that commits wait');
  const { rows } = await database.pool.query<{ now: Date }>('SELECT now()');
  const isTriedAgain = async (): Promise<boolean> =>
    (
      await database.pool.query("SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query_start > $1", [
        rows[0]!.now,
      ])
    ).rowCount! > 0;
  await pollUntil(isTriedAgain, 60_000, 'writes are tried again');
  // Trials end: none is left waiting.
  const waiting = await database.pool.query(
    "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND now() - query_start > '5 s'",
  );
  expect(waiting.rows).toEqual([]);
  await database.pool.query("ALTER SYSTEM SET synchronous_standby_names = ''");
  await database.pool.query('SELECT pg_reload_conf()');
  await pollUntil(async () => monitor.refusal === undefined, 60_000, 'the monitor sees that writes are taken');
  await monitor.stop();
  expect(reported).toEqual([
    'PostgreSQL takes no writes: the database waits for a synchronous standby',
    'PostgreSQL takes writes again',
  ]);
}

testWithDebian('transaction ids that have run out are told by their name, while reads go on', async () => {
  const postgres = await DebianPostgres.start(join(folder, 'worn'), { max_prepared_transactions: '1' });
  await postgres.sql('CREATE TABLE kept AS SELECT 1 AS id');
  // Blocks every vacuum, which would otherwise repair it at once.
  await postgres.sql("BEGIN; INSERT INTO kept VALUES (7); PREPARE TRANSACTION 'forgotten'");
  await postgres.tool('pg_ctl', 'stop', '-w', '-m', 'fast', '-D', postgres.pgdata);
  // Two billion transactions later: PostgreSQL stops three million before the oldest one would wrap around.
  const lastId = 2 ** 31 + 3 - 2_000_000;
  await postgres.tool('pg_resetwal', '-x', String(lastId), '-D', postgres.pgdata);
  const segment = Math.floor(lastId / 1_048_576)
    .toString(16)
    .toUpperCase()
    .padStart(4, '0');
  await run('dd', ['if=/dev/zero', `of=${join(postgres.pgdata, 'pg_xact', segment)}`, 'bs=262144', 'count=1'], {
    ...(await postgresAccount()),
  });
  await postgres.tool(
    'pg_ctl',
    'start',
    '-w',
    '-D',
    postgres.pgdata,
    '-l',
    join(postgres.folder, 'log'),
    '-o',
    `-c listen_addresses='' -c unix_socket_directories='${postgres.folder}' -c max_prepared_transactions=1`,
  );

  const failures: DatabaseFailure[] = [];
  const observer = {
    statement: () => {},
    waited: () => {},
    timedOut: () => {},
    failed: (failure: DatabaseFailure) => void failures.push(failure),
  };
  const database = await Database.connect({ url: postgres.url(), log: silentLog, observer });
  const monitor = new WriteMonitor({ database, log: silentLog, intervalMs: 50, retryMs: 50 });
  monitor.start();
  await pollUntil(async () => monitor.refusal !== undefined, 60_000, 'the monitor sees that writes are refused');
  expect(monitor.refusal).toBe('no_transaction_ids');
  await expect(database.pool.query('INSERT INTO kept VALUES (2)')).rejects.toMatchObject({ code: '54000' });
  expect(new Set(failures)).toEqual(new Set(['no_transaction_ids']));
  expect((await database.pool.query('SELECT id FROM kept')).rows).toEqual([{ id: 1 }]);
  await monitor.stop();
  await database.close();
  await postgres.stop();
});
