import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { backUp } from '#pkg/backup/index';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../../pkg/testenv/test-database.ts';
import { backedUpSchemas } from './backed-up-schemas.ts';

let home: TestDatabase;
let database: Database;

beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
});
afterAll(async () => {
  await database.close();
  await home.drop();
});

async function backedUp(): Promise<number> {
  const sink = new Writable({ write: (_piece, _encoding, done) => done() });
  return (
    await backUp({ database, schemas: backedUpSchemas, version: '1.2.3', signal: new AbortController().signal }, sink)
  ).tables;
}

test('after each migration a backup has the tables of the schema, and nothing else', async () => {
  const steps = Math.max(...backedUpSchemas.map(({ migrations }) => migrations.length));
  for (let step = 0; step < steps; step += 1) {
    for (const { name, migrations } of backedUpSchemas)
      await migrate(database, name, migrations, { through: (migrations[step] ?? migrations.at(-1))!.name });
    expect(await backedUp()).toBeGreaterThan(0);
  }
});

test('objects that somebody else created there are refused by name', async () => {
  await database.pool.query(
    'CREATE TABLE access.users_before_fix AS SELECT * FROM access.users; ALTER TABLE platform.models ADD COLUMN note text',
  );
  await expect(backedUp()).rejects.toThrow(
    'Schema access contains objects that svc did not create, and a backup with them could not be restored: table users_before_fix; move them to another schema, or drop them.',
  );
  await database.pool.query('ALTER TABLE access.users_before_fix SET SCHEMA public');
  await expect(backedUp()).rejects.toThrow(
    'Schema platform contains objects that svc did not create, and a backup with them could not be restored: column models.note; move them to another schema, or drop them.',
  );
});
