import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program } from '../start-test-program.ts';

let home: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  home = await createTestDatabase();
  client = new pg.Client(home.connection);
  await client.connect();
});
afterEach(killPrograms);
afterAll(async () => {
  await client.end();
  await home.drop();
});

async function migrate(
  ...args: string[]
): Promise<{ code: number | null; lines: Record<string, unknown>[]; stderr: string }> {
  const program = new Program(['migrate', `--svc.database.url=${databaseUrlOf(home)}`, ...args]);
  const code = await program.exited;
  return { code, lines: program.lines(), stderr: program.stderr };
}

const schemas = async (): Promise<string[]> =>
  (
    await client.query<{ nspname: string }>(
      "SELECT nspname FROM pg_namespace WHERE nspname IN ('access', 'platform') ORDER BY 1",
    )
  ).rows.map(({ nspname }) => nspname);

test('svc migrate --check reports what svc migrate will do, and changes nothing', async () => {
  const before = await migrate('--check');
  expect([before.code, before.stderr, await schemas()]).toEqual([0, '', []]);
  expect(before.lines).toContainEqual(
    expect.objectContaining({
      schema: 'platform',
      applied: [],
      pending: expect.arrayContaining(['0001_storage']),
      msg: 'the schema would be brought up to date',
    }),
  );
  expect(before.lines.at(-1)).toMatchObject({ msg: 'the database can be brought up to date' });

  expect((await migrate()).code).toBe(0);
  expect(await schemas()).toEqual(['access', 'platform']);
  const after = await migrate('--check');
  expect(after.code).toBe(0);
  expect(after.lines.filter(({ schema }) => schema !== undefined)).toEqual([
    expect.objectContaining({ schema: 'access', pending: [] }),
    expect.objectContaining({ schema: 'platform', pending: [] }),
  ]);
  expect(after.lines.at(-1)).toMatchObject({ msg: 'the database is up to date' });
});

test('exits with 1 and one sentence if it cannot migrate the database', async () => {
  await client.query("INSERT INTO platform.migration (name) VALUES ('9999_future')");
  const newer = await migrate('--check');
  expect([newer.code, newer.stderr]).toEqual([
    1,
    'svc: Schema platform was migrated by a newer version of this program (9999_future is not known here); run that version.\n',
  ]);
  const away = await migrate('--check', '--svc.database.url=postgres://nobody@127.0.0.1:1/none');
  expect([away.code, away.stderr]).toEqual([
    1,
    'svc: PostgreSQL cannot be reached: connect ECONNREFUSED 127.0.0.1:1.\n',
  ]);
});
