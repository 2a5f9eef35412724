import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { databaseUrlOf, killPrograms, startServe, type Served } from '../../../cmd/svc/start-test-program.ts';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { chartFolder } from './render-chart.ts';

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

function run(script: string, env: Readonly<Record<string, string>>, cwd: string): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(chartFolder, 'files', script)],
      { cwd, env: { PATH: process.env['PATH'], ...env }, timeout: 90_000 },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
  });
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-chart-scripts-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the script of helm test', () => {
  let database: TestDatabase;
  let served: Served;
  let env: Record<string, string>;
  beforeAll(async () => {
    database = await createTestDatabase();
    served = await startServe(join(folder, 'data'), [`--svc.database.url=${databaseUrlOf(database)}`]);
    env = { API_URL: served.url, ACCESS_URL: served.accessUrl, TOKEN_FILE: join(folder, 'data/admin-token') };
  });
  afterAll(async () => {
    await killPrograms();
    await database.drop();
  });

  test('uses a server, reports what it did, and leaves nothing', async () => {
    const { code, stdout, stderr } = await run('smoke.mjs', env, folder);
    expect([stderr, code]).toEqual(['', 0]);
    expect(stdout.match(/^ok: .+$/gm)).toHaveLength(10);
    const definitions = await fetch(`${served.url}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, {
      headers: { authorization: `Bearer ${served.token}` },
    });
    expect(await definitions.text()).not.toContain('smoke-');
  });

  test('trusts the configured authority', async () => {
    const { tlsUrl, accessTlsUrl } = await served.program.line('ready');
    const overTls = { ...env, API_URL: String(tlsUrl), ACCESS_URL: String(accessTlsUrl) };
    expect(
      await run('smoke.mjs', { ...overTls, NODE_EXTRA_CA_CERTS: join(folder, 'data/tls/ca.crt') }, folder),
    ).toMatchObject({ code: 0, stderr: '' });
  });

  test('reports a failure', async () => {
    const tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, 'pat_wrong');
    const { code, stdout, stderr } = await run('smoke.mjs', { ...env, TOKEN_FILE: tokenFile }, folder);
    expect([stdout, code]).toEqual(['ok: the platform is ready\n', 1]);
    expect(stderr).toMatch(/^POST http\S+customresourcedefinitions is 401: /);
  });
});

describe('the script of the backup CronJob', () => {
  const age = (file: string, hours: number): void =>
    utimesSync(file, new Date(), new Date(Date.now() - hours * 3_600_000));

  /** With a program that replaces svc. */
  function newImage(program: string): { image: string; backups: string } {
    const image = mkdtempSync(join(folder, 'image-'));
    const backups = join(image, 'backups');
    mkdirSync(backups);
    mkdirSync(join(image, 'dist/cmd/svc'), { recursive: true });
    writeFileSync(join(image, 'dist/cmd/svc/main.js'), program);
    return { image, backups };
  }

  /** Runs a `svc backup` that writes the file and exits with `code`. */
  async function backUp(code: number): Promise<{ ended: Ended; left: string[] }> {
    const { image, backups } = newImage(
      `const [, , verb, to, file] = process.argv; if (verb === 'backup' && to === '--to') require('fs').writeFileSync(file, ''); process.exit(${code});`,
    );
    for (const name of [
      'svc-20260101T000000Z.svcbak',
      'svc-20260102T000000Z.svcbak',
      'svc-20260103T000000Z.svcbak',
      'svc-20260103T000000Z.svcbak.partial',
      'svc-20260104T000000Z.svcbak.partial',
      'mine.svcbak',
    ])
      writeFileSync(join(backups, name), '');
    age(join(backups, 'svc-20260103T000000Z.svcbak.partial'), 7);
    const ended = await run('backup.mjs', { BACKUP_FOLDER: backups, BACKUPS_KEPT: '2' }, image);
    return { ended, left: readdirSync(backups).toSorted() };
  }

  test('keeps the newest backups, and other files', async () => {
    const { ended, left } = await backUp(0);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(left).toEqual([
      'mine.svcbak',
      'svc-20260103T000000Z.svcbak',
      'svc-20260104T000000Z.svcbak.partial',
      expect.stringMatching(/^svc-\d{8}T\d{6}Z\.svcbak$/),
    ]);
  });

  test('removes no backup if the next one fails, except leftovers of killed ones', async () => {
    const { ended, left } = await backUp(3);
    expect(ended.code).toBe(3);
    expect(left).toContain('svc-20260101T000000Z.svcbak');
    expect(left).not.toContain('svc-20260103T000000Z.svcbak.partial');
  });

  test('receives its signal to end, so that it can clean up', async () => {
    const { image, backups } = newImage(
      "process.on('SIGTERM', () => process.exit(143)); setInterval(() => undefined, 1000); process.stdout.write('begun');",
    );
    const child = spawn(process.execPath, [join(chartFolder, 'files/backup.mjs')], {
      cwd: image,
      env: { PATH: process.env['PATH'], BACKUP_FOLDER: backups, BACKUPS_KEPT: '2' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([143, null]);
  });
});
