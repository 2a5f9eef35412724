import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { databaseUrlOf } from '../../../cmd/svc/start-test-program.ts';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { MatrixRun } from './matrix-run.ts';
import { parseMatrixOptions } from './matrix-options.ts';

/** `make matrix` sends a hundred thousand. */
const cells = 800;

let home: TestDatabase;
let run: MatrixRun;

beforeAll(async () => {
  home = await createTestDatabase();
  run = await MatrixRun.start({
    databaseUrl: databaseUrlOf(home),
    program: 'sources',
    seed: 'sample',
    concurrency: 16,
    hasPlugin: false,
    chance: 0,
    privateTokens: 0,
  });
});
afterAll(async () => {
  await run?.stop();
  await home.drop();
});

test('both services admit whom the contract admits, and nobody else', async () => {
  await run.send(0, cells);
  expect(run.report.failures).toEqual([]);
  expect(run.report.passed).toBe(cells);
  expect(run.untried.filter((name) => !name.startsWith('private'))).toEqual([]);
});

test('routes that admit too many, or too few, are detected on both services', async () => {
  const { rows } = await run.pool.query<{ user_id: string }>(
    "DELETE FROM access.system_role_bindings WHERE role = 'SystemAdmin' RETURNING user_id",
  );
  await run.pool.query(
    "INSERT INTO access.system_role_bindings (user_id, role) SELECT id, 'SystemAdmin' FROM access.users WHERE NOT id = ANY($1)",
    [rows.map((row) => row.user_id)],
  );
  await run.send(cells, cells + 400);
  const kinds = run.report.failures.map((failure) =>
    /x (wrong \w+): [A-Z]+ \/(apis?\/v1|apis)\//.exec(failure)?.slice(1, 3).join(' '),
  );
  for (const kind of ['wrong allow api/v1', 'wrong deny api/v1', 'wrong allow apis', 'wrong deny apis'])
    expect(kinds).toContain(kind);
  expect(run.report.toString()).toMatch(/curl -i --path-as-is -X [A-Z]+ -H/);
});

test('options', () => {
  expect(parseMatrixOptions(['--seed=a', '--cells=5', '--cell=3'])).toEqual({
    seed: 'a',
    cells: 5,
    only: 3,
    concurrency: 32,
  });
  expect(() => parseMatrixOptions(['--cells=many'])).toThrow('--cells must be a whole number');
  expect(() => parseMatrixOptions(['--what=1'])).toThrow(/--what/);
});
