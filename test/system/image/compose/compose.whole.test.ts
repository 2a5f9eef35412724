import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { databaseUrlOf } from '../../../../cmd/svc/start-test-program.ts';
import { createTestDatabase, type TestDatabase } from '../../../../pkg/testenv/test-database.ts';
import { repository } from '../../../../hack/image/dockerfile.ts';
import { deployFolder } from './compose-file.ts';
import { LocalStack } from './local-stack.ts';

const run = promisify(execFile);
const canRun =
  process.platform === 'linux' &&
  spawnSync('haproxy', ['-v']).error === undefined &&
  existsSync(join(repository, 'dist/cmd/svc/main.js'));
if (!canRun && process.env['CI'] !== 'true')
  process.stderr.write('WARNING: compose.yaml is not run: that needs Linux, haproxy, and npm run build.\n');
const testHere = canRun || process.env['CI'] === 'true' ? test : test.skip;

let folder: string;
let database: TestDatabase;
let stack: LocalStack | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-compose-secrets-'));
  database = await createTestDatabase();
});
afterAll(async () => {
  await stack?.stop();
  await database.drop();
  await rm(folder, { recursive: true });
});

testHere('compose.yaml serves, and one replica of each may stop at any time', async () => {
  const secrets = join(folder, 'secrets');
  await run(join(deployFolder, 'make-secrets.sh'), {
    env: {
      PATH: process.env['PATH'],
      SECRETS: secrets,
      SVC: `${process.execPath} ${join(repository, 'dist/cmd/svc/main.js')}`,
    },
  });
  stack = await LocalStack.start({ databaseUrl: databaseUrlOf(database), secrets });
  const { replicas, address } = stack;
  expect(replicas.map(({ service }) => service)).toEqual([
    'apiserver',
    'apiserver',
    'access-server',
    'access-server',
    'controller-manager',
    'controller-manager',
  ]);

  // Logs in with the password from make-secrets.sh, at an access server behind the proxy.
  const password = /^svc\.security\.initial-admin-password: (.*)$/m.exec(
    await readFile(join(secrets, 'svc.yaml'), 'utf8'),
  )![1];
  const login = await fetch(`http://${address}:8091/api/v1/authentication/auth/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'admin', password }),
  });
  expect(login.status).toBe(201);

  const authorization = `Bearer ${await readFile(join(secrets, 'admin-token'), 'utf8')}`;
  const list = async (): Promise<number> =>
    (await fetch(`http://${address}:8090/apis/plugin.svc.run/v1alpha1/plugins`, { headers: { authorization } })).status;
  expect(await list()).toBe(200);

  // The first replica of each service stops under load; no request fails.
  const answers = new Map<number | string, number>();
  const stopping = { done: false };
  const asking = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!stopping.done) {
        const status = await list().catch((error: Error) => error.message);
        answers.set(status, (answers.get(status) ?? 0) + 1);
      }
    }),
  );
  const codes = await Promise.all(
    replicas.filter((_replica, index) => index % 2 === 0).map((replica) => stack!.stopReplica(replica)),
  );
  stopping.done = true;
  await asking;
  expect(codes).toEqual([0, 0, 0]);
  expect([...answers.keys()]).toEqual([200]);
});
