import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { AccessDatabase } from '../access-database.ts';
import { addUser } from '../accesstest/add-user.ts';
import { accessMigrations } from '../migrations.ts';
import { openKeyRing } from './open-key-ring.ts';
import { SecretBox } from './secret-box.ts';
import { SecretKeyError } from './secret-error.ts';
import { SecretKey } from './secret-key.ts';
import { sealedTables } from './sealed-tables.ts';

let home: TestDatabase;
let database: Database;
let access: AccessDatabase;
let folder: string;
let dataDir: string;
let count = 0;

beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
  access = new AccessDatabase(database);
  folder = mkdtempSync(join(tmpdir(), 'svc-key-ring-'));
});
beforeEach(async () => {
  await database.pool.query('TRUNCATE access.access_keys, access.private_tokens, access.key_checks');
  count += 1;
  dataDir = join(folder, String(count));
});
afterAll(async () => {
  await database.close();
  await home.drop();
  rmSync(folder, { recursive: true, force: true });
});

const [a, b, c] = [SecretKey.generate(), SecretKey.generate(), SecretKey.generate()];
const given = (...keys: SecretKey[]): { keys: string; dataDir: string } => ({
  keys: keys.map((key) => key.reveal()).join(', '),
  dataDir,
});
const checks = async (): Promise<string[]> =>
  (
    await database.pool.query<{ key_id: string }>('SELECT key_id FROM access.key_checks ORDER BY date_created')
  ).rows.map(({ key_id: id }) => id);

/** Adds a row sealed with the first of these keys. */
async function sealSomething(...keys: SecretKey[]): Promise<void> {
  const box = new SecretBox(await openKeyRing(access, given(...keys)));
  const userId = await addUser(access, { username: `user-${Math.random()}` });
  const sealed = box.seal('x', sealedTables.privateTokens.purposeOf(userId));
  await database.pool.query('INSERT INTO access.private_tokens (user_id, secret, lookup) VALUES ($1, $2, $3)', [
    userId,
    sealed,
    box.lookup('x', 'p'),
  ]);
}

describe('without any option', () => {
  test('a first start creates a key in the data folder, and all others find it', async () => {
    const rings = await Promise.all(Array.from({ length: 6 }, () => openKeyRing(access, { dataDir })));
    const again = await openKeyRing(access, { dataDir });
    expect(new Set([...rings, again].map(({ primary }) => primary.id)).size).toBe(1);
    expect(statSync(join(dataDir, 'secret-key')).mode & 0o777).toBe(0o600);
    expect(await checks()).toEqual([again.primary.id]);
  });

  test('a folder without the key creates no other one for a database in use, not even concurrently', async () => {
    const rings = await Promise.all([1, 2].map((n) => openKeyRing(access, { dataDir: join(dataDir, String(n)) })));
    expect(rings.filter(({ isEmpty }) => isEmpty)).toHaveLength(1);
    const ring = await openKeyRing(access, { dataDir });
    expect(() => ring.primary).toThrow(
      /there is none in .*secret-key; bring that file back, or set svc\.security\.key\.$/,
    );
    expect(() => statSync(dataDir + '/secret-key')).toThrow('ENOENT');
  });

  test('a start that was killed before it registered its key is completed by the next', async () => {
    const { primary } = await openKeyRing(access, { dataDir });
    await database.pool.query('TRUNCATE access.key_checks CASCADE');
    expect((await openKeyRing(access, { dataDir })).primary.id).toBe(primary.id);
    expect(await checks()).toEqual([primary.id]);
  });
});

describe('keys of an option', () => {
  test('the first is the primary key; a file may give them as well', async () => {
    const ring = await openKeyRing(access, given(a, b));
    expect([ring.keys.map(({ id }) => id), ring.file]).toEqual([[a.id, b.id], undefined]);
    const keyFile = join(folder, `file-${count}`);
    writeFileSync(keyFile, `${b.reveal()}\n${a.reveal()}\n`, { mode: 0o600 });
    const other = await openKeyRing(access, { keyFile, dataDir });
    expect(other.primary.id).toBe(b.id);
    expect(await checks()).toEqual([a.id, b.id]);
    expect(() => readFileSync(join(dataDir, 'secret-key'))).toThrow('ENOENT');
  });

  const refused: {
    reason: string;
    before: SecretKey[];
    options: () => Parameters<typeof openKeyRing>[1];
    sentence: RegExp;
  }[] = [
    {
      reason: 'another key',
      before: [a],
      options: () => given(b),
      sentence: /sealed with another key than there is in svc\.security\.key/,
    },
    {
      reason: 'a missing key',
      before: [a, b],
      options: () => given(b),
      sentence: new RegExp(`sealed with the key ${a.id}, which is not in svc\\.security\\.key; add that key`),
    },
    {
      reason: 'malformed',
      before: [],
      options: () => ({ keys: `${a.reveal()},nonsense`, dataDir }),
      sentence: /svc\.security\.key is malformed/,
    },
    { reason: 'both options', before: [], options: () => ({ ...given(a), keyFile: '/x' }), sentence: /are both set/ },
    {
      reason: 'a missing file',
      before: [],
      options: () => ({ keyFile: '/absent/key', dataDir }),
      sentence: /no key file \/absent\/key/,
    },
  ];
  test.each(refused)('$reason: refused, and nothing is written', async ({ before, options, sentence }) => {
    if (before.length > 0) await sealSomething(...before);
    if (before.length > 1) await openKeyRing(access, given(before[1]!, before[0]!));
    const known = await checks();
    const start = openKeyRing(access, options());
    await expect(start).rejects.toThrow(SecretKeyError);
    await expect(start).rejects.toThrow(sentence);
    await expect(start).rejects.not.toThrow(a.reveal());
    expect(await checks()).toEqual(known);
  });

  test('a new key is accepted next to the one the database knows', async () => {
    await sealSomething(a);
    for (const keys of [
      [a, b],
      [b, a],
      [b, a, c],
    ])
      await openKeyRing(access, given(...keys));
    expect(await checks()).toEqual([a.id, b.id]);
  });

  test('a changed check value is not accepted as proof', async () => {
    await openKeyRing(access, given(a));
    await database.pool.query("UPDATE access.key_checks SET sealed = sealed || '\\x00'");
    await expect(openKeyRing(access, given(a))).rejects.toThrow(SecretKeyError);
  });
});

test('the database refuses data sealed with an unknown key, and keeps the check of every key that a row needs', async () => {
  await sealSomething(a);
  await expect(database.pool.query('DELETE FROM access.key_checks')).rejects.toMatchObject({ code: '23503' });
  await expect(
    database.pool.query('UPDATE access.private_tokens SET secret = $1', [b.seal('x', 'p')]),
  ).rejects.toMatchObject({ code: '23503' });
});
