import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findInstalledPostgres } from '../harness/process/installed-postgres.ts';
import { defaultDataParent } from '../harness/process/postgres-process.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(defaultDataParent, 'svc-drill-'));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

test('PostgreSQL is restored to a moment before an accident, and watches from after it start again', async () => {
  if ((await findInstalledPostgres()) === undefined && process.env['CI'] !== 'true') {
    process.stderr.write('skipped, as there is no PostgreSQL of Debian: apt-get install postgresql\n');
    return;
  }
  const { PATH } = process.env;
  const { stdout } = await promisify(execFile)('bash', [join(root, 'test/system/backup/point-in-time.sh'), folder], {
    cwd: root,
    env: { PATH, PROGRAM: 'node --conditions=source --import tsx cmd/svc/main.ts' },
    timeout: 280_000,
  });
  expect(stdout.trim().split('\n')).toEqual([
    'waits for a standby',
    'recovered: "name":"drill-after" "name":"drill-before" ',
    'the database failed over or was recovered: revisions jump',
    '"code":410',
  ]);
});
