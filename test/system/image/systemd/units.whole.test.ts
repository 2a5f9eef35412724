import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newPersonalToken } from '#pkg/identity/index';
import { databaseUrlOf } from '../../../../cmd/svc/start-test-program.ts';
import { createTestDatabase, type TestDatabase } from '../../../../pkg/testenv/test-database.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { LoopbackAddresses } from '../../harness/process/loopback.ts';
import { repository } from '../../../../hack/image/dockerfile.ts';
import { sampleOptions, Unit } from './unit.ts';

const run = promisify(execFile);
const canRun = process.platform === 'linux' && existsSync(join(repository, 'dist/cmd/svc/main.js'));
if (!canRun && process.env['CI'] !== 'true')
  process.stderr.write('WARNING: the units are not run: that needs Linux, and npm run build.\n');
const testHere = canRun || process.env['CI'] === 'true' ? test : test.skip;

let folder: string;
let database: TestDatabase;
const running: ChildProcess[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-units-'));
  await mkdir(join(folder, 'credentials'));
  await mkdir(join(folder, 'backups'));
  database = await createTestDatabase();
  const token = newPersonalToken();
  for (const program of ['controller-manager', 'access-server'])
    await writeFile(join(folder, `credentials/${program}-token`), newPersonalToken());
  await writeFile(
    join(folder, 'credentials/secrets.yaml'),
    `svc.database.url: ${databaseUrlOf(database)}\nsvc.security.initial-admin-token: ${token}\nsvc.security.key: ${'a1'.repeat(32)}\n`,
  );
});
afterAll(async () => {
  for (const child of running) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await database.drop();
  await rm(folder, { recursive: true });
});

/** Replaces specifiers and installation paths as systemd would. */
function here(text: string, instance: string): string {
  const specifiers: Record<string, string> = { i: instance, d: join(folder, 'credentials'), S: folder, '%': '%' };
  return text
    .replaceAll(/%(.)/g, (_whole, letter: string) => specifiers[letter]!)
    .replace('/opt/svc/', repository)
    .replace('/usr/bin/node', process.execPath)
    .replace('/etc/svc/plugins', join(folder, 'plugins'));
}

/** The variables of /etc/svc/svc.env for a machine with this address, from the sample only. */
function sampleFor(address: string): Record<string, string> {
  const { NODE_EXTRA_CA_CERTS: _authority, ...sample } = sampleOptions();
  return Object.fromEntries(
    Object.entries(sample).map(([name, value]) => [
      name,
      value.replace('10.0.0.11', address).replace('https://svc.example.com:8443', `http://${address}:8090`),
    ]),
  );
}

testHere('every program runs as its unit says, and the backup too', async () => {
  const unit = new Unit('svc@.service');
  // A machine that is also its own load balancer.
  const address = new LoopbackAddresses().take();
  const sample = sampleFor(address);
  for (const [program, port] of [
    ['apiserver', 8090],
    ['access-server', 8091],
    ['controller-manager', 8092],
  ] as const) {
    const [command, ...args] = here(unit.setting('ExecStart'), program).split(' ');
    const environment = Object.fromEntries(
      Object.entries(unit.environment).map(([name, value]) => [name, here(value, program)]),
    );
    const child = spawn(command!, args, {
      cwd: folder,
      env: { PATH: process.env['PATH'], ...environment, ...sample },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.push(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await retryUntilTrue(async () => child.exitCode !== null || (await fetch(`http://${address}:${port}/readyz`)).ok, {
      what: `${program} is ready`,
      timeoutMs: 60_000,
    });
    expect(child.exitCode === null ? '' : said).toBe('');
  }

  const [, script] = /^\/bin\/sh -c '(.*)'$/.exec(here(new Unit('svc-backup.service').setting('ExecStart'), '')) ?? [];
  await run('/bin/sh', ['-c', script!], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      CREDENTIALS_DIRECTORY: join(folder, 'credentials'),
      STATE_DIRECTORY: join(folder, 'backups'),
    },
  });
  expect(await readdir(join(folder, 'backups'))).toEqual([expect.stringMatching(/^svc-\d{8}T\d{6}Z\.backup$/)]);

  const codes = await Promise.all(
    running.map(async (child) => {
      child.kill('SIGTERM');
      return (await once(child, 'exit'))[0] as number | null;
    }),
  );
  expect(codes).toEqual([0, 0, 0]);
});
