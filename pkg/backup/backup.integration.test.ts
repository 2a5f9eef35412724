import { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../testenv/test-database.ts';
import { backUp } from './back-up.ts';
import { joinArchive, splitArchive, type PlainArchive } from './backuptest/plain-archive.ts';
import { filled, shop, structure } from './backuptest/shop-schema.ts';
import { restore } from './restore.ts';
import { verifyBackup } from './verify-backup.ts';

const { signal } = new AbortController();
const homes: TestDatabase[] = [];
const databases: Database[] = [];
let original: Database;
let archive: Buffer;

beforeAll(async () => {
  original = await newDatabase('svc');
  await migrate(original, 'shop', shop.migrations);
  await original.pool.query(filled);
  archive = await backedUp();
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

async function backedUp(): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await backUp(
    { database: original, schemas: [shop], version: '1.2.3', signal },
    new Writable({ write: (piece: Buffer, _, done) => (pieces.push(piece), done()) }),
  );
  return Buffer.concat(pieces);
}

const restored = (database: Database, bytes: Buffer): ReturnType<typeof restore> =>
  restore(
    { database, schemas: [shop], replace: false, signal, serverWaitMs: 0 },
    Readable.from([bytes], { objectMode: false }),
  );
const verified = (bytes: Buffer): ReturnType<typeof verifyBackup> =>
  verifyBackup({ schemas: [shop], signal }, Readable.from([bytes], { objectMode: false }));
const linesOf = async (database: Database, text: string): Promise<unknown[]> =>
  (await database.pool.query<object>(text)).rows;

test('a restore has rows and complete tables, and no excluded table, unlogged table, or table of a deleted model', async () => {
  const database = await newDatabase();
  const summary = await restored(database, archive);
  expect(summary).toMatchObject({ tables: 5, rows: 508 });
  expect(await verified(archive)).toEqual(summary);
  expect(await linesOf(database, structure)).toEqual(await linesOf(original, structure));
  for (const rows of ['customers ORDER BY id', 'kinds ORDER BY id', 'm_1 ORDER BY rev'])
    expect(await linesOf(database, `SELECT * FROM shop.${rows}`)).toEqual(
      await linesOf(original, `SELECT * FROM shop.${rows}`),
    );
  for (const table of ['carts', 'counters']) expect(await linesOf(database, `SELECT FROM shop.${table}`)).toEqual([]);
  expect(await linesOf(database, "SELECT FROM pg_class WHERE relname = 'm_2'")).toEqual([]);
});

test('rows that contradict each other are refused with a message, and nothing is restored', async () => {
  const database = await newDatabase();
  const plain = splitArchive(archive);
  plain.tables.find(({ line }) => line['table'] === 'receipts')!.rows = Buffer.from('1\t\\N\t77\n2\t\\N\t77\n');
  await expect(restored(database, joinArchive(plain))).rejects.toThrow(
    /^The rows of the backup contradict each other: .*foreign key/,
  );
  expect(await linesOf(database, "SELECT FROM pg_namespace WHERE nspname = 'shop'")).toEqual([]);
});

test('a schema adopts the restored content when it is complete: rows, references, sequences', async () => {
  const database = await newDatabase();
  const seen: unknown[] = [];
  const adopting: typeof shop = {
    ...shop,
    adopt: async (client, { state, replaced, tables }) => {
      const { rows } =
        await client.query(`SELECT (SELECT count(*)::int FROM shop.m_1) AS rows, (SELECT last_value::int FROM pg_sequences WHERE sequencename = 'kinds_id_seq') AS sequence,
        (SELECT count(*)::int FROM pg_constraint WHERE contype = 'f' AND connamespace = 'shop'::regnamespace) AS references, (SELECT count(*)::int FROM pg_trigger WHERE tgname = 'stamp') AS triggers`);
      seen.push(rows[0], state, replaced, Array.from(tables.keys()));
    },
  };
  await restore(
    { database, schemas: [adopting], replace: false, signal, serverWaitMs: 0 },
    Readable.from([archive], { objectMode: false }),
  );
  expect(seen).toEqual([
    { rows: 500, sequence: 3, references: 2, triggers: 1 },
    { customers: 4 },
    undefined,
    ['m_1', 'm_3'],
  ]);
});

test.each<[string, (plain: PlainArchive) => void]>([
  [
    'twice',
    ({ header, tables, totals }) => {
      const again = tables.find(({ line }) => line['table'] === 'kinds')!;
      totals.rows += again.count['rows'] as number;
      header['tables'] = totals.tables = tables.push(again);
    },
  ],
  [
    'zero times',
    ({ header, tables, totals }) => {
      totals.rows -= tables.shift()!.count['rows'] as number;
      header['tables'] = totals.tables = tables.length;
    },
  ],
])('a backup that has a table %s is refused, and nothing is restored', async (_, forge) => {
  const database = await newDatabase();
  const plain = splitArchive(archive);
  forge(plain);
  await expect(verified(joinArchive(plain))).rejects.toThrow('The backup is damaged');
  await expect(restored(database, joinArchive(plain))).rejects.toThrow('The backup is damaged');
  expect(await linesOf(database, "SELECT FROM pg_namespace WHERE nspname = 'shop'")).toEqual([]);
});

test('a backup without its end is not whole, and a file of another kind is no backup', async () => {
  await expect(verified(archive.subarray(0, -1))).rejects.toThrow('The backup is incomplete: it was cut short.');
  await expect(verified(Buffer.from('PGDMP'))).rejects.toThrow('This is not a backup made by svc backup.');
});

test('a table with something that this program does not create is not backed up', async () => {
  await original.pool.query('ALTER TABLE shop.m_1 ADD CONSTRAINT positive CHECK (rev > 0)');
  try {
    await expect(backedUp()).rejects.toThrow(
      'Table shop.m_1 has something that this program did not create and cannot back up: positive.',
    );
  } finally {
    await original.pool.query('ALTER TABLE shop.m_1 DROP CONSTRAINT positive');
  }
});
