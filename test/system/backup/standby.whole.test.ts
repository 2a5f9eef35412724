import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { backUp, type BackedUpSchema } from '#pkg/backup/index';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { backedUpSchemas } from '../../../cmd/svc/commands/backup/backed-up-schemas.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { defaultDataParent } from '../harness/process/postgres-process.ts';
import { DebianPostgres } from './debian-postgres.ts';
import { findInstalledPostgres } from '../harness/process/installed-postgres.ts';

let folder: string;
let primary: DebianPostgres | undefined;
let standby: string;
let [written, read]: Database[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(defaultDataParent, 'svc-standby-'));
  await chmod(folder, 0o755);
  if ((await findInstalledPostgres()) === undefined && process.env['CI'] !== 'true') return;
  primary = await DebianPostgres.start(join(folder, 'primary'));
  written = await Database.connect({ url: primary.url(), log: silentLog });
  for (const { name, migrations } of backedUpSchemas) await migrate(written, name, migrations);
  await written.pool.query("INSERT INTO access.retired_usernames SELECT 'user' || n FROM generate_series(1, 1000) n");
  standby = join(primary.folder, 'standby');
  await primary.tool('pg_basebackup', '-h', primary.folder, '-U', 'postgres', '-D', standby, '-R', '-c', 'fast');
  // Cancels conflicting queries immediately, instead of after 30 seconds.
  await primary.tool(
    'pg_ctl',
    'start',
    '-w',
    '-D',
    standby,
    '-l',
    join(standby, 'log'),
    '-o',
    `-c listen_addresses='' -c unix_socket_directories='${standby}' -c max_standby_streaming_delay=0`,
  );
  read = await Database.connect({ url: `postgres://postgres@/postgres?host=${standby}`, log: silentLog });
});
afterAll(async () => {
  await read?.close();
  await written?.close();
  await primary?.tool('pg_ctl', 'stop', '-w', '-m', 'fast', '-D', standby);
  await primary?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function rowsOf(schemas: readonly BackedUpSchema[]): Promise<number> {
  const sink = new Writable({ write: (_piece, _encoding, done) => done() });
  return (await backUp({ database: read!, schemas, version: '1.2.3', signal: new AbortController().signal }, sink))
    .rows;
}

test('a standby is backed up, until its primary removes rows that are being read: then the error says what to do', async () => {
  if (primary === undefined) {
    process.stderr.write('skipped, as there is no PostgreSQL of Debian: apt-get install postgresql\n');
    return;
  }
  expect(await rowsOf(backedUpSchemas)).toBeGreaterThanOrEqual(1000);
  const cleaning: BackedUpSchema = {
    ...backedUpSchemas[0]!,
    readState: async () => {
      await written!.pool.query('DELETE FROM access.retired_usernames');
      await written!.pool.query('VACUUM access.retired_usernames');
      const others = "SELECT FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'";
      await pollUntil(
        async () => (await read!.pool.query(others)).rowCount === 0,
        60_000,
        'the standby to end the other sessions',
      );
      return {};
    },
  };
  await expect(rowsOf([cleaning])).rejects.toThrow(
    /^The standby has cleaned up rows .* hot_standby_feedback = on there/,
  );
});
