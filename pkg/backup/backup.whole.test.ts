import { Readable, Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../testenv/test-database.ts';
import { backUp } from './back-up.ts';
import { BackupError } from './backup-error.ts';
import type { BackedUpSchema, SchemaState } from './backed-up-schema.ts';
import { joinArchive, splitArchive, type PlainArchive } from './backuptest/plain-archive.ts';
import { filled, shop, structure } from './backuptest/shop-schema.ts';
import { restore, type RestoreOptions } from './restore.ts';
import { verifyBackup } from './verify-backup.ts';

const never = new AbortController().signal;
const homes: TestDatabase[] = [];
const databases: Database[] = [];
let original: Database;
let target: Database;
let archive: Buffer;

beforeAll(async () => {
  [original, target] = [await newDatabase('svc'), await newDatabase('svc restore')];
  await migrate(original, 'shop', shop.migrations);
  await original.pool.query(filled);
  archive = await backedUp(original);
});
afterAll(async () => {
  for (const database of databases) await database.close();
  for (const home of homes) await home.drop();
});

async function newDatabase(applicationName = 'svc restore'): Promise<Database> {
  const home = await createTestDatabase();
  homes.push(home);
  const database = await Database.connect({ connection: home.connection, log: silentLog, applicationName });
  databases.push(database);
  return database;
}

/** Acts as another role, which needs no login. */
function withRole(connection: TestDatabase['connection'], role: string): TestDatabase['connection'] {
  return { ...connection, options: `-c role=${role}` };
}

async function backedUp(database: Database, schemas: readonly BackedUpSchema[] = [shop]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const sink = new Writable({ write: (piece: Buffer, _, done) => (pieces.push(piece), done()) });
  await backUp({ database, schemas, version: '1.2.3', signal: never }, sink);
  return Buffer.concat(pieces);
}

function restored(database: Database, bytes: Buffer, more: Partial<RestoreOptions> = {}): ReturnType<typeof restore> {
  const pieces = Array.from({ length: Math.ceil(bytes.length / 10_000) }, (_, i) =>
    bytes.subarray(i * 10_000, (i + 1) * 10_000),
  );
  return restore(
    { database, schemas: [shop], replace: false, signal: never, serverWaitMs: 0, ...more },
    Readable.from(pieces, { objectMode: false }),
  );
}

const verified = (bytes: Buffer): ReturnType<typeof verifyBackup> =>
  verifyBackup({ schemas: [shop], signal: never }, Readable.from([bytes], { objectMode: false }));

async function linesOf(database: Database, text: string): Promise<unknown[]> {
  return (await database.pool.query<object>(text)).rows;
}

const isEmpty = async (database: Database): Promise<boolean> =>
  (await linesOf(database, "SELECT FROM pg_namespace WHERE nspname = 'shop'")).length === 0;

test('a restore has all rows and complete tables, and no excluded table', async () => {
  const database = await newDatabase();
  expect(await restored(database, archive)).toEqual({
    version: '1.2.3',
    created: expect.any(String),
    tables: 5,
    rows: 508,
  });
  expect(await linesOf(database, structure)).toEqual(await linesOf(original, structure));
  for (const rows of ['customers ORDER BY id', 'kinds ORDER BY id', 'm_1 ORDER BY rev', 'm_3'])
    expect(await linesOf(database, `SELECT * FROM shop.${rows}`)).toEqual(
      await linesOf(original, `SELECT * FROM shop.${rows}`),
    );
  expect(await linesOf(database, 'SELECT text FROM shop.receipts ORDER BY id')).toEqual([
    { text: 'tab\there, line\nbreak, \\. and \\N' },
    { text: 'said' },
  ]);
  for (const table of ['carts', 'counters']) expect(await linesOf(database, `SELECT FROM shop.${table}`)).toEqual([]);
  expect(await linesOf(database, "SELECT FROM pg_class WHERE relname = 'm_2'")).toEqual([]);
  // Rows are frozen, and the statistics are up to date.
  expect(
    await linesOf(
      database,
      "SELECT reltuples::int AS rows, relallvisible > 0 AS settled FROM pg_class WHERE relname = 'm_1'",
    ),
  ).toEqual([{ rows: 500, settled: true }]);
  expect(await migrate(database, 'shop', shop.migrations)).toEqual([]);
  expect(splitArchive(await backedUp(database)).tables.map(({ rows }) => rows.toString())).toEqual(
    splitArchive(archive).tables.map(({ rows }) => rows.toString()),
  );
});

test('a backup is one snapshot, whatever is written and created meanwhile', async () => {
  const database = await newDatabase('svc');
  await migrate(database, 'shop', shop.migrations);
  const over = new AbortController();
  // Tables per attempt: fewer than a backup has attempts, each of which may find a new table.
  let newTables = 0;
  const writing = (async () => {
    for (let i = 10; !over.signal.aborted; i += 1) {
      await database.pool.query(
        `BEGIN; INSERT INTO shop.customers (name) VALUES ('customer ${i}'); INSERT INTO shop.receipts VALUES (${i}, 'to ${i}', NULL); COMMIT`,
      );
      if (i % 50 !== 0 || newTables === 0) continue;
      newTables -= 1;
      await database.pool.query(
        `BEGIN; INSERT INTO shop.kinds (name) VALUES ('kind ${i}'); DO $$ BEGIN EXECUTE 'CREATE TABLE shop.m_' || currval('shop.kinds_id_seq') || ' (body text)'; END $$; COMMIT`,
      );
    }
  })();
  try {
    for (let round = 0; round < 5; round += 1) {
      newTables = 20;
      const { tables } = splitArchive(await backedUp(database));
      const rowsOf = (name: string): number =>
        tables.find(({ line }) => line['table'] === name)!.count['rows'] as number;
      expect(rowsOf('customers') - 1).toBe(rowsOf('receipts'));
      expect(tables.filter(({ line }) => String(line['table']).startsWith('m_'))).toHaveLength(rowsOf('kinds'));
    }
  } finally {
    over.abort();
  }
  await writing;
});

describe('a table that is changed while a backup waits for it', () => {
  const changes: { reason: string; text: string; name: string }[] = [
    { reason: 'rewritten', text: 'ALTER TABLE shop.receipts ALTER COLUMN id TYPE bigint', name: 'receipts' },
    {
      reason: 'truncated and filled again',
      text: "TRUNCATE shop.m_3; INSERT INTO shop.m_3 VALUES ('new'), ('newer')",
      name: 'm_3',
    },
    { reason: 'with a removed column', text: 'ALTER TABLE shop.m_1 DROP COLUMN i_6', name: 'm_1' },
    { reason: 'with a renamed column', text: 'ALTER TABLE shop.m_1 RENAME COLUMN i_2 TO i_7', name: 'm_1' },
    {
      reason: 'made anew',
      text: 'DROP TABLE shop.m_3; CREATE TABLE shop.m_3 (text text); INSERT INTO shop.m_3 SELECT',
      name: 'm_3',
    },
  ];
  test.each(changes)('$reason', async ({ text, name }) => {
    const database = await newDatabase('svc');
    await restored(database, archive);
    const client = await database.pool.connect();
    await client.query(`BEGIN; ${text}`);
    const pendingBackup = backedUp(database);
    pendingBackup.catch(() => undefined);
    while (
      (
        await linesOf(
          database,
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'LOCK TABLE%'",
        )
      ).length === 0
    )
      continue;
    await client.query('COMMIT');
    client.release();
    const table = splitArchive(await pendingBackup).tables.find(({ line }) => line['table'] === name)!;
    const columns = (table.line['columns'] as string[]).join(', ');
    const rows = await linesOf(database, `SELECT ${columns} FROM shop.${name}`);
    expect(rows.length).toBeGreaterThan(0);
    expect(table.count).toEqual({ rows: rows.length });
  });
});

test('a backup of an earlier version is restored as of that version, and then migrated', async () => {
  const old = await newDatabase();
  await migrate(old, 'shop', shop.migrations, { through: '0001_base' });
  const bytes = await backedUp(old);
  const database = await newDatabase();
  await restored(database, bytes);
  expect(await migrate(database, 'shop', shop.migrations)).toEqual(['0002_notes']);
  expect(await linesOf(database, 'SELECT name, note FROM shop.customers')).toEqual([
    { name: 'from the migration', note: null },
  ]);
});

test('a restore sees what is committed while it waits, whatever the default isolation of the database', async () => {
  const database = await newDatabase();
  await database.pool.query(`ALTER DATABASE ${homes.at(-1)!.name} SET default_transaction_isolation = 'serializable'`);
  const levels: unknown[] = [];
  const adopt: BackedUpSchema['adopt'] = async (client) =>
    void levels.push(...(await client.query<object>('SHOW transaction_isolation')).rows);
  await restored(database, archive, { schemas: [{ ...shop, adopt }] });
  expect(levels).toEqual([{ transaction_isolation: 'read committed' }]);
});

describe('a backup that could not be restored is refused', () => {
  const changes: { reason: string; text: string; sentence: string }[] = [
    {
      reason: 'a table',
      text: 'CREATE TABLE shop.customers_before AS SELECT * FROM shop.customers',
      sentence:
        'contains objects that svc did not create, and a backup with them could not be restored: table customers_before; move',
    },
    {
      reason: 'a table with a sequence',
      text: 'CREATE TABLE shop.seen (id serial)',
      sentence:
        'contains objects that svc did not create, and a backup with them could not be restored: table seen, sequence seen_id_seq; move',
    },
    {
      reason: 'a column',
      text: 'ALTER TABLE shop.kinds ADD COLUMN hint text',
      sentence:
        'contains objects that svc did not create, and a backup with them could not be restored: column kinds.hint; move',
    },
    {
      reason: 'a sequence',
      text: 'CREATE SEQUENCE shop.numbers',
      sentence:
        'contains objects that svc did not create, and a backup with them could not be restored: sequence numbers; move',
    },
    {
      reason: 'an unlogged table',
      text: 'ALTER TABLE shop.kinds SET UNLOGGED',
      sentence: 'lacks objects that svc created, and a backup without them could not be restored: table kinds; create',
    },
    {
      reason: 'a missing column',
      text: 'ALTER TABLE shop.customers DROP COLUMN note',
      sentence:
        'lacks objects that svc created, and a backup without them could not be restored: column customers.note; create',
    },
  ];
  test.each(changes)('$reason', async ({ text, sentence }) => {
    const database = await newDatabase();
    await migrate(database, 'shop', shop.migrations);
    await database.pool.query(text);
    await expect(backedUp(database)).rejects.toThrow(`Schema shop ${sentence}`);
  });
});

test('existing content stays unless --replace is given, and is replaced in one transaction, without connected servers', async () => {
  const database = await newDatabase();
  await migrate(database, 'shop', shop.migrations);
  await database.pool.query("INSERT INTO shop.customers (name) VALUES ('one'), ('two')");
  const replacing = (adopt: NonNullable<BackedUpSchema['adopt']>): Promise<unknown> =>
    restored(database, archive, { replace: true, schemas: [{ ...shop, adopt }] });
  await expect(restored(database, archive)).rejects.toThrow(
    'The database already has the schema shop; restore into an empty database, or give --replace to drop what is there.',
  );
  const server = await Database.connect({ connection: homes.at(-1)!.connection, log: silentLog });
  await expect(restored(database, archive, { replace: true })).rejects.toThrow(
    'Servers are using this database (1 connection of svc): stop all of them before --replace.',
  );
  await server.close();
  const states: (SchemaState | undefined)[] = [];
  await expect(
    replacing(async (client, { state, replaced }) => {
      states.push(state, replaced);
      await client.query('SELECT 1');
      throw new BackupError('No.');
    }),
  ).rejects.toThrow('No.');
  expect(states).toEqual([{ customers: 4 }, { customers: 3 }]);
  expect(await linesOf(database, 'SELECT name FROM shop.customers ORDER BY id')).toEqual([
    { name: 'from the migration' },
    { name: 'one' },
    { name: 'two' },
  ]);
  await replacing(async () => Promise.resolve());
  expect(await linesOf(database, 'SELECT count(*)::int AS n FROM shop.customers')).toEqual([{ n: 4 }]);
});

test.each([
  ['svc', 'a server of an older build', true],
  ['svc apiserver reads 1@host', 'a server', true],
  ['svc backup', 'a backup of an older build', false],
  ['svc backup main 1@host', 'a backup', false],
  ['shop', 'another program', false],
])('a session named %s is %s: it stops --replace: %s', async (name, _whose, isServer) => {
  const database = await newDatabase();
  await migrate(database, 'shop', shop.migrations);
  const session = await database.newClient();
  await session.query("SELECT set_config('application_name', $1, false)", [name]);
  const replaced = restored(database, archive, { replace: true });
  await (isServer ? expect(replaced).rejects.toThrow('(1 connection of svc)') : replaced);
  await session.end();
});

describe('--replace drops the content of the schema, and nothing else', () => {
  const users: { reason: string; make: string; drop: string; sentence: string }[] = [
    {
      reason: 'a view elsewhere',
      make: 'CREATE VIEW public.report AS SELECT name FROM shop.customers',
      drop: 'VIEW public.report',
      sentence: 'view public.report depends on table shop.customers',
    },
    {
      reason: 'a reference from elsewhere',
      make: 'CREATE TABLE public.orders (customer int REFERENCES shop.customers)',
      drop: 'TABLE public.orders',
      sentence: 'constraint orders_customer_fkey on table public.orders depends on table shop.customers',
    },
    {
      reason: 'a function in use elsewhere',
      make: 'CREATE TABLE public.stamped (labels text[]); CREATE TRIGGER t BEFORE INSERT ON public.stamped FOR EACH ROW EXECUTE FUNCTION shop.stamp()',
      drop: 'TABLE public.stamped',
      sentence: 'trigger t on table public.stamped depends on function shop.stamp()',
    },
    {
      reason: 'a publication',
      make: 'CREATE PUBLICATION told FOR TABLE shop.customers',
      drop: 'PUBLICATION told',
      sentence: 'publication told names table shop.customers',
    },
  ];
  test.each(users)('$reason', async ({ make, drop, sentence }) => {
    const database = await newDatabase();
    await migrate(database, 'shop', shop.migrations);
    await database.pool.query(make);
    await expect(restored(database, archive, { replace: true })).rejects.toThrow(
      `--replace would also change something that svc did not create: ${sentence}; remove that first.`,
    );
    expect(await linesOf(database, 'SELECT name FROM shop.customers')).toEqual([{ name: 'from the migration' }]);
    await database.pool.query(`DROP ${drop}`);
    await restored(database, archive, { replace: true });
    expect(await linesOf(database, structure)).toEqual(await linesOf(original, structure));
  });

  test('objects that depend on tables are dropped before them, and functions that tables need after them', async () => {
    const database = await newDatabase();
    await migrate(database, 'shop', shop.migrations);
    await database.pool
      .query(`CREATE VIEW shop.names AS SELECT name FROM shop.customers; CREATE MATERIALIZED VIEW shop.counted AS SELECT count(*) FROM shop.customers;
      CREATE TABLE shop.stamped (labels text[]); CREATE TRIGGER t BEFORE INSERT ON shop.stamped FOR EACH ROW EXECUTE FUNCTION shop.stamp()`);
    await restored(database, archive, { replace: true });
    expect(await linesOf(database, structure)).toEqual(await linesOf(original, structure));
  });

  test('a user who may not create schemas can replace the content of one, and grants on the schema stay', async () => {
    const database = await newDatabase();
    const [user, reader] = [`app_${homes.at(-1)!.name}`, `reader_${homes.at(-1)!.name}`];
    await database.pool.query(
      `CREATE ROLE ${user} LOGIN; CREATE ROLE ${reader}; CREATE SCHEMA shop; GRANT ALL ON SCHEMA shop TO ${user}; GRANT USAGE ON SCHEMA shop TO ${reader}`,
    );
    try {
      const connection = withRole(homes.at(-1)!.connection, user);
      const limited = await Database.connect({ connection, log: silentLog, applicationName: 'svc restore' });
      try {
        for (const replace of [false, true]) await restored(limited, archive, { replace });
      } finally {
        await limited.close();
      }
      expect(await linesOf(database, structure)).toEqual(await linesOf(original, structure));
      expect(
        await linesOf(
          database,
          `SELECT has_schema_privilege('${reader}', 'shop', 'USAGE') AS may, has_database_privilege('${user}', current_database(), 'CREATE') AS creates`,
        ),
      ).toEqual([{ may: true, creates: false }]);
    } finally {
      await database.pool.query(`DROP OWNED BY ${user}, ${reader} CASCADE; DROP ROLE ${user}, ${reader}`);
    }
  });
});

test('a server that reconnects during a restore is noticed, and a starting one waits', async () => {
  const database = await newDatabase();
  await migrate(database, 'shop', shop.migrations);
  const server = await Database.connect({
    connection: homes.at(-1)!.connection,
    log: silentLog,
    applicationName: 'test',
  });
  const replacing = (wait: number): Promise<unknown> =>
    restored(database, archive, { replace: true, serverWaitMs: wait });
  const dropped = async (): Promise<void> => {
    while (
      (
        await linesOf(
          server,
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_sleep%'",
        )
      ).length === 0
    )
      continue;
  };
  const back = async (work: (database: Database) => Promise<unknown>): Promise<unknown> => {
    await dropped();
    const late = await Database.connect({ connection: homes.at(-1)!.connection, log: silentLog });
    try {
      return await work(late);
    } finally {
      await late.close();
    }
  };
  try {
    const used = back((late) => late.pool.query('SELECT FROM shop.customers'));
    await expect(replacing(60_000)).rejects.toThrow(
      'Servers are using this database (1 connection of svc): stop all of them before --replace.',
    );
    await used;
    expect(await linesOf(database, 'SELECT name FROM shop.customers')).toEqual([{ name: 'from the migration' }]);
    const started = back((late) => migrate(late, 'shop', shop.migrations));
    await replacing(1_000);
    expect(await started).toEqual([]);
  } finally {
    await server.close();
  }
});

test('a database without the schema, or of a newer version, is not backed up', async () => {
  const database = await newDatabase();
  await expect(backedUp(database)).rejects.toThrow(
    'There is nothing to back up: the database has no schema shop of svc.',
  );
  await expect(backedUp(original, [{ ...shop, migrations: shop.migrations.slice(0, 1) }])).rejects.toThrow(
    'Schema shop was migrated by a newer version of this program (0002_notes is not known here); run that version.',
  );
  await original.pool.query('CREATE INDEX partial ON shop.m_1 (name) WHERE deleted IS NULL');
  await expect(backedUp(original)).rejects.toThrow(
    'Table shop.m_1 has something that this program did not create and cannot back up: partial.',
  );
  await original.pool.query('DROP INDEX shop.partial');
});

describe('a transfer without progress ends', () => {
  const limited = { schemas: [shop], version: '1', stallLimitMs: 300 };
  test('a reader that reads nothing', async () => {
    const sink = new Writable({ highWaterMark: 1, write: () => undefined });
    await original.pool.query(
      'INSERT INTO shop.m_3 SELECT md5(i::text) || md5((-i)::text) FROM generate_series(1, 100000) i',
    );
    try {
      await expect(backUp({ ...limited, database: original, signal: never }, sink)).rejects.toThrow(
        'No progress for 0 seconds: the command gave up.',
      );
    } finally {
      await original.pool.query('TRUNCATE shop.m_3');
    }
    expect(
      await linesOf(
        original,
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'",
      ),
    ).toEqual([]);
  });
  test('a writer that stops after a part', async () => {
    const source = new Readable({ read: () => undefined });
    source.push(archive.subarray(0, 2000));
    await expect(restore({ ...limited, database: target, replace: false, signal: never }, source)).rejects.toThrow(
      'No progress',
    );
    expect(await isEmpty(target)).toBe(true);
  });
  test('a restore that is aborted', async () => {
    const controller = new AbortController();
    const source = new Readable({ read: () => undefined });
    source.push(archive.subarray(0, archive.length - 100));
    const restoring = restore({ database: target, schemas: [shop], replace: false, signal: controller.signal }, source);
    restoring.catch(() => undefined);
    while (
      (
        await linesOf(
          original,
          "SELECT FROM pg_stat_activity WHERE application_name LIKE 'svc restore %' AND query LIKE 'COPY%'",
        )
      ).length === 0
    )
      continue;
    controller.abort(new Error('called off'));
    await expect(restoring).rejects.toThrow('called off');
    expect(await isEmpty(target)).toBe(true);
  });
});

describe('a backup is untrusted input', () => {
  const damages: { reason: string; bytes: () => Buffer; sentence: RegExp }[] = [
    { reason: 'nothing', bytes: () => Buffer.alloc(0), sentence: /cut short/ },
    {
      reason: 'another file',
      bytes: () => Buffer.from('PGDMP and so on'),
      sentence: /^This is not a backup made by svc backup\.$/,
    },
    {
      reason: 'another gzip',
      bytes: () => gzipSync('hello\nworld\n'),
      sentence: /^This is not a backup made by svc backup\.$/,
    },
    {
      reason: 'an endless line',
      bytes: () => gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20)),
      sentence: /^The backup is damaged/,
    },
    { reason: 'cut short', bytes: () => archive.subarray(0, -1), sentence: /cut short/ },
    { reason: 'cut in the middle', bytes: () => archive.subarray(0, archive.length / 2), sentence: /cut short/ },
    {
      reason: 'data after the end',
      bytes: () => Buffer.concat([archive, gzipSync('more')]),
      sentence: /^The backup is damaged/,
    },
  ];
  test.each(damages)('$reason', async ({ bytes, sentence }) => {
    await expect(verified(bytes())).rejects.toThrow(sentence);
    await expect(restored(target, bytes())).rejects.toThrow(sentence);
    expect(await isEmpty(target)).toBe(true);
  });

  type Line = Record<string, unknown>;
  const lineOf = (plain: PlainArchive, name: string): Line =>
    plain.tables.find(({ line }) => line['table'] === name)!.line;
  const shapeOf = (plain: PlainArchive): Record<string, Line[]> =>
    lineOf(plain, 'm_1')['shape'] as Record<string, Line[]>;
  const forgeries: {
    reason: string;
    /** What a look at the file alone finds, where only PostgreSQL sees the problem. */ verifiedAs?:
      'damaged' | 'whole';
    forge: (plain: PlainArchive) => unknown;
    sentence: RegExp;
  }[] = [
    {
      reason: 'of another format',
      forge: ({ header }) => (header['svcBackup'] = 2),
      sentence: /^The backup is of format 2, by 1\.2\.3; this program reads format 1/,
    },
    {
      reason: 'of a newer version',
      forge: ({ header }) =>
        (header['schemas'] as Record<string, { migrations: string[] }>)['shop']!.migrations.push('0003_later'),
      sentence: /made by 1\.2\.3, which is newer than this program \(migration 0003_later/,
    },
    {
      reason: 'with an additional schema',
      forge: ({ header }) => ((header['schemas'] as Line)['zz'] = null),
      sentence: /not a backup/,
    },
    {
      reason: 'with an additional schema with a sequence',
      forge: ({ header }) =>
        ((header['schemas'] as Line)['public'] = { migrations: ['0001_base'], state: {}, sequences: { theirs: '99' } }),
      sentence: /not a backup/,
    },
    {
      reason: 'a state with the maximum revision',
      forge: ({ header }) =>
        ((header['schemas'] as Record<string, { state: Line }>)['shop']!.state['customers'] = 1_000_001),
      sentence: /not a backup/,
    },
    {
      reason: 'an unknown state',
      forge: ({ header }) => ((header['schemas'] as Record<string, { state: Line }>)['shop']!.state['epoch'] = 1),
      sentence: /not a backup/,
    },
    {
      reason: 'a sequence with a quote',
      forge: ({ header }) =>
        ((header['schemas'] as Record<string, { sequences: Line }>)['shop']!.sequences['a"b'] = '1'),
      sentence: /not a backup/,
    },
    {
      reason: 'an invalid time',
      forge: ({ header }) => (header['created'] = 'once upon\na time'),
      sentence: /not a backup/,
    },
    { reason: 'a negative number of tables', forge: ({ header }) => (header['tables'] = -1), sentence: /not a backup/ },
    { reason: 'without schemas', forge: ({ header }) => (header['schemas'] = {}), sentence: /not a backup/ },
    {
      reason: 'a schema of another name',
      forge: (plain) => (lineOf(plain, 'm_1')['schema'] = 'pg_catalog'),
      sentence: /damaged/,
    },
    {
      reason: 'a table of another name',
      forge: (plain) => (lineOf(plain, 'kinds')['table'] = 'kinds; DROP TABLE x'),
      sentence: /damaged/,
    },
    {
      reason: 'a quote in a name',
      forge: (plain) => (lineOf(plain, 'm_1')['table'] = 'm_1" (x int); --'),
      sentence: /damaged/,
    },
    {
      reason: 'an excluded table',
      forge: (plain) => (lineOf(plain, 'kinds')['table'] = 'carts'),
      sentence: /: it contains table shop\.carts, which svc does not back up\./,
    },
    { reason: 'a duplicate table', forge: (plain) => (lineOf(plain, 'm_3')['table'] = 'm_1'), sentence: /damaged/ },
    {
      reason: 'a missing table',
      forge: (plain) => (
        (plain.header['tables'] = plain.totals.tables = 4),
        (plain.totals.rows -= plain.tables.splice(1, 1)[0]!.count['rows'] as number)
      ),
      sentence: /damaged/,
    },
    { reason: 'a missing column', forge: (plain) => (lineOf(plain, 'kinds')['columns'] = ['id']), sentence: /damaged/ },
    {
      reason: 'an additional column',
      forge: (plain) => (lineOf(plain, 'kinds')['columns'] = ['id', 'name', 'hint']),
      sentence: /: it contains column shop\.kinds\.hint, which svc does not back up\./,
    },
    {
      reason: 'a renamed column',
      forge: (plain) => (lineOf(plain, 'kinds')['columns'] = ['id', "name) FROM PROGRAM 'id' --"]),
      sentence: /damaged/,
    },
    {
      reason: 'a column of another type',
      forge: (plain) => (shapeOf(plain)['columns']![0]!['type'] = 'oid'),
      sentence: /in a form that this program never writes: a column/,
    },
    {
      reason: 'a type that runs code',
      forge: (plain) => (shapeOf(plain)['columns']![0]!['type'] = 'text DEFAULT pg_read_file(1)'),
      sentence: /never writes/,
    },
    {
      reason: 'two columns with one name',
      forge: (plain) => (shapeOf(plain)['columns']![0]!['name'] = 'body'),
      sentence: /two columns/,
    },
    {
      reason: 'an index by another method',
      forge: (plain) => (shapeOf(plain)['indexes']![0]!['method'] = 'hash'),
      sentence: /an index/,
    },
    {
      reason: 'an index on a column that is not there',
      forge: (plain) => (((shapeOf(plain)['indexes']![0]!['columns'] as Line[])[0] as Line)['name'] = 'lost'),
      sentence: /an index/,
    },
    {
      reason: 'a foreign trigger',
      forge: (plain) => shapeOf(plain)['triggers']!.push('mine' as never),
      sentence: /a trigger/,
    },
    { reason: 'no description', forge: (plain) => delete lineOf(plain, 'm_1')['shape'], sentence: /not a description/ },
    { reason: 'a wrong number of rows', forge: (plain) => (plain.tables[0]!.count['rows'] = 5), sentence: /damaged/ },
    { reason: 'a wrong total of rows', forge: (plain) => (plain.totals.rows += 1), sentence: /damaged/ },
    {
      reason: 'an invalid sequence',
      forge: ({ header }) =>
        ((header['schemas'] as Record<string, { sequences: Line }>)['shop']!.sequences['kinds'] = '1'),
      sentence: /: it contains sequence shop\.kinds, which svc does not back up\./,
    },
    {
      reason: 'invalid rows',
      verifiedAs: 'damaged',
      forge: (plain) => (plain.tables[0]!.rows = Buffer.from('one\ttwo\tthree\tfour\n')),
      sentence: /^PostgreSQL refused: invalid input syntax/,
    },
    {
      reason: 'an endless row',
      verifiedAs: 'damaged',
      forge: (plain) => (plain.tables[0]!.rows = Buffer.alloc(5_000_000, 0x41)),
      sentence: /^PostgreSQL refused/,
    },
    {
      reason: 'rows that are not UTF-8',
      verifiedAs: 'damaged',
      forge: (plain) => (plain.tables[0]!.rows = Buffer.from([0x31, 0x09, 0xff, 0x0a])),
      sentence: /^PostgreSQL refused/,
    },
    {
      reason: 'a duplicate row',
      verifiedAs: 'whole',
      forge: (plain) => (
        (plain.tables[1]!.rows = Buffer.concat([plain.tables[1]!.rows, plain.tables[1]!.rows])),
        (plain.tables[1]!.count['rows'] = 4),
        (plain.totals.rows += 2)
      ),
      sentence: /PostgreSQL refused: duplicate key|contradict/,
    },
    {
      reason: 'a reference to a missing row',
      verifiedAs: 'whole',
      forge: (plain) =>
        (plain.tables.find(({ line }) => line['table'] === 'receipts')!.rows = Buffer.from('1\t\\N\t77\n2\t\\N\t77\n')),
      sentence: /^The rows of the backup contradict each other/,
    },
  ];
  test.each(forgeries)('forged: $reason', async ({ forge, sentence, verifiedAs }) => {
    const plain = splitArchive(archive);
    forge(plain);
    const file = joinArchive(plain);
    if (verifiedAs === 'whole') await verified(file);
    else await expect(verified(file)).rejects.toThrow(verifiedAs === 'damaged' ? 'The backup is damaged' : sentence);
    await expect(restored(target, file)).rejects.toThrow(sentence);
    expect(await isEmpty(target)).toBe(true);
  });

  test('any byte may be changed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: archive.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        async (at, change) => {
          const bytes = Buffer.from(archive);
          bytes[at]! ^= change;
          // Bytes of the gzip header: its time, and the system that wrote it.
          if (at >= 4 && at < 10) return;
          await expect(verified(bytes)).rejects.toBeInstanceOf(BackupError);
          await expect(restored(target, bytes)).rejects.toBeInstanceOf(BackupError);
          expect(await isEmpty(target)).toBe(true);
        },
      ),
      { numRuns: 12 },
    );
  });
});
