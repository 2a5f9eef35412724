import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { databaseUrlOf, killPrograms, Program, startServe } from '../../../../cmd/svc/start-test-program.ts';
import { createTestDatabase, type TestDatabase } from '../../../../pkg/testenv/test-database.ts';
import { FuzzRun } from '../fuzz-run.ts';
import type { FuzzTarget } from '../fuzz-target.ts';
import { readAccessState } from '../oracles/access-state.ts';
import { accessJudge } from '../oracles/judge-access.ts';
import { StateDigest } from '../oracles/state-digest.ts';
import { accessService } from '../services.ts';
import { violation } from '../violation.ts';
import { prepareAccessUsers, secretsOf, type AccessUsers } from '../../harness/client/access-users.ts';
import { accessAreas } from './areas/index.ts';

let home: TestDatabase;
let folder: string;
let target: FuzzTarget;
let fixtures: AccessUsers;

beforeAll(async () => {
  home = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-fuzz-access-'));
  const password = randomBytes(20).toString('base64url');
  const options = [`--svc.database.url=${databaseUrlOf(home)}`, `--svc.data.dir=${folder}`];
  const { program, accessUrl } = await startServe(folder, [
    ...options,
    ...accessService.options,
    `--svc.security.initial-admin-password=${password}`,
    '--svc.log.level=info',
  ]);
  const port = Number(new URL(accessUrl).port);
  const createPrivateToken = async (username: string): Promise<string> => {
    const command = new Program(['private-token', 'create', `--user=${username}`, ...options]);
    await command.exited;
    return command.stdout.trim();
  };
  fixtures = await prepareAccessUsers({
    accessPort: port,
    adminPassword: () => Promise.resolve(password),
    createPrivateToken,
  });
  let seen = 0;
  target = {
    port,
    token: fixtures.token,
    secrets: [password, ...secretsOf(fixtures)],
    digest: await StateDigest.open(home.connection, readAccessState),
    judge: accessJudge,
    call: () => Promise.reject(new Error('not for this')),
    health: async () => ((await fetch(`${accessUrl}/livez`)).ok ? undefined : violation('server silent', '/livez')),
    takeErrors: () => {
      const lines = program.lines();
      const errors = lines.slice(seen).filter(({ level }) => level === 'error' || level === 'fatal');
      seen = lines.length;
      return errors.map((line) => JSON.stringify(line));
    },
    takeHolds: async () => [],
  };
});
afterAll(async () => {
  await target?.digest.close();
  await killPrograms();
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

test.each(['svc', process.env['SVC_TEST_SEED'] ?? 'another'])(
  'access management answers hostile requests according to its contract, and is unchanged: seed %s',
  async (seed) => {
    const run = new FuzzRun({ target, seed, areas: accessAreas, fixtures, concurrency: 32, slow: false });
    await run.batch('free', 800);
    await run.batch('quiet', 300);
    await run.batch('exclusive', 60);
    const report = await run.finish();
    if (report.findings.size > 0) throw new Error(`seed ${seed}\n${report.toString()}`);
    expect(report.requests).toBeGreaterThan(1000);
  },
);
