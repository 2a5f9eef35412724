import { cp, mkdtemp, readdir, rm, chmod, writeFile, chown, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { Database } from '../database.ts';
import { DatabaseError } from '../database-error.ts';
import { isDatabaseUnreachable } from '../database-failure.ts';
import { EmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { silentLog } from '../log.ts';

let folder: string;
let primary: EmbeddedPostgres;
let standby: EmbeddedPostgres;

/** A server, and a copy of it that is in recovery. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-hosts-'));
  await chmod(folder, 0o711);
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  const settings = { fsync: 'off' };
  await (await EmbeddedPostgres.start({ dataDir: first, log: silentLog, settings })).stop();
  await cp(first, second, { recursive: true });
  const pgdata = join(
    second,
    (await readdir(second)).find((name) => name.startsWith('pgdata-'))!,
  );
  const signal = join(pgdata, 'standby.signal');
  await writeFile(signal, '');
  await ownAs(join(first, pgdata.slice(second.length)), second);
  primary = await EmbeddedPostgres.start({ dataDir: first, log: silentLog, settings });
  standby = await EmbeddedPostgres.start({ dataDir: second, log: silentLog, settings });
});
afterAll(async () => {
  await primary?.stop();
  await standby?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** PostgreSQL does not run as root, and its files are its user's. */
async function ownAs(model: string, copy: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(model);
  for (const name of [copy, ...(await readdir(copy, { recursive: true })).map((each) => join(copy, each))])
    await chown(name, uid, gid);
}

function urlOf(hosts: readonly EmbeddedPostgres[], target: string): string {
  const { user, database } = primary.connection;
  const list = hosts.map(({ connection: { host, port } }) => `${encodeURIComponent(host!)}:${port}`);
  return `postgres://${user}@${list.join()}/${database}?target_session_attrs=${target}`;
}

async function isStandby(database: Pick<Database, 'pool'>): Promise<boolean> {
  const { rows } = await database.pool.query<{ is: boolean }>('SELECT pg_is_in_recovery() AS is');
  return rows[0]!.is;
}

test('the host that accepts writes is found wherever it stands, and any takes the first', async () => {
  for (const [hosts, target, expected] of [
    [[standby, primary], 'read-write', false],
    [[primary, standby], 'primary', false],
    [[standby, primary], 'any', true],
    [[primary, standby], 'any', false],
  ] as const) {
    const database = await Database.connect({ url: urlOf(hosts, target), log: silentLog });
    try {
      const client = await database.newClient();
      const { rows } = await client.query<{ is: boolean }>('SELECT pg_is_in_recovery() AS is');
      expect([target, await isStandby(database), rows[0]!.is]).toEqual([target, expected, expected]);
    } finally {
      await database.close();
    }
  }
});

test('no suitable host is a failure of each, and a wrong database one of PostgreSQL', async () => {
  const only = await Database.connect({ url: urlOf([standby], 'read-write'), log: silentLog }).catch((e: unknown) => e);
  expect(only).toBeInstanceOf(DatabaseError);
  expect((only as Error).message).toMatch(/no host of the database is suitable \(.*: it accepts no writes\)/);
  expect(isDatabaseUnreachable((only as Error).cause)).toBe(true);
  const url = urlOf([standby, primary], 'read-write').replace(/\/[^/?]*\?/, '/none?');
  await expect(Database.connect({ url, log: silentLog })).rejects.toThrow(/database "none" does not exist/);
});

test('a primary may be read only: read-write refuses it, and primary takes it', async () => {
  const admin = await Database.connect({ connection: primary.connection, log: silentLog });
  const { database: name } = primary.connection;
  await admin.pool.query(`ALTER DATABASE ${name!} SET default_transaction_read_only = on`);
  try {
    const taken = await Database.connect({ url: urlOf([standby, primary], 'primary'), log: silentLog });
    const isTakenStandby = await isStandby(taken);
    await taken.close();
    expect(isTakenStandby).toBe(false);
    await expect(Database.connect({ url: urlOf([standby, primary], 'read-write'), log: silentLog })).rejects.toThrow(
      'it accepts no writes',
    );
  } finally {
    await admin.pool.query(
      `SET default_transaction_read_only = off; ALTER DATABASE ${name!} RESET default_transaction_read_only`,
    );
    await admin.close();
  }
});

test('a failure of the only host that could be suitable is told as it is', async () => {
  const admin = await Database.connect({ connection: primary.connection, log: silentLog });
  await admin.pool.query('CREATE ROLE without_connections LOGIN CONNECTION LIMIT 0');
  try {
    const url = urlOf([primary, primary], 'read-write').replace(/\/\/[^@]*@/, '//without_connections@');
    await expect(Database.connect({ url, log: silentLog })).rejects.toMatchObject({ cause: { code: '53300' } });
  } finally {
    await admin.pool.query('DROP ROLE without_connections');
    await admin.close();
  }
});

test('after a failover the next connections go to the promoted host', async () => {
  const told: string[] = [];
  const log = { ...silentLog, info: (_: object, message: string) => void told.push(message) };
  const database = await Database.connect({ url: urlOf([primary, standby], 'read-write'), log });
  try {
    await Promise.all(Array.from({ length: 5 }, () => isStandby(database)));
    await primary.stop();
    // The standby does not count: the primary's own failure is the reason.
    expect(isDatabaseUnreachable(await isStandby(database).catch((error: unknown) => error))).toBe(true);
    const { rows } = await promote();
    expect(rows).toEqual([{ pg_promote: true }]);
    await pollUntil(() =>
      isStandby(database).then(
        (is) => !is,
        () => false,
      ),
    );
    expect((await database.pool.query('SHOW transaction_read_only')).rows).toEqual([{ transaction_read_only: 'off' }]);
    expect(told).toContain('connecting to another host of the database');
  } finally {
    await database.close();
  }
});

async function promote(): Promise<{ rows: object[] }> {
  const database = await Database.connect({ connection: standby.connection, log: silentLog });
  try {
    return await database.pool.query('SELECT pg_promote()');
  } finally {
    await database.close();
  }
}
