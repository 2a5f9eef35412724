import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program, startServe } from './start-test-program.ts';

let home: TestDatabase;
let folder: string;

beforeAll(async () => {
  home = await createTestDatabase();
  // PostgreSQL, which runs as another user if the tests run as root, must be able to enter.
  folder = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'svc-start-'));
  await chmod(folder, 0o711);
});
afterEach(async () => {
  await killPrograms();
});
afterAll(async () => {
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

const onUrl = (): string => `--svc.database.url=${databaseUrlOf(home)}`;
const as = (token: string): { headers: Record<string, string> } => ({
  headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
});

describe('svc serve', () => {
  test('on an embedded PostgreSQL: starts, is stopped by SIGTERM, and has all data at the next start', async () => {
    const dataDir = join(folder, 'embedded');
    const first = await startServe(dataDir);
    expect(await (await fetch(`${first.url}/readyz`)).text()).toBe('ok');
    expect((await fetch(`${first.url}/api/v1/namespaces`)).status).toBe(401);
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kept' } });
    expect((await fetch(`${first.url}/api/v1/namespaces`, { method: 'POST', body, ...as(first.token) })).status).toBe(
      201,
    );
    first.program.child.kill('SIGTERM');
    expect(await first.program.exited).toBe(0);
    expect(first.program.stdout).not.toContain(first.token);

    const second = await startServe(dataDir);
    expect(second.token).toBe(first.token);
    expect((await fetch(`${second.url}/api/v1/namespaces/kept`, as(first.token))).status).toBe(200);

    const rival = new Program(['serve', '--svc.server.port=0', `--svc.data.dir=${dataDir}`]);
    expect(await rival.exited).toBe(1);
    expect(rival.stderr).toMatch(/^svc: Another server \(process \d+\) is using the data folder/);
  });

  test('uses its public addresses, sends its cookies over https only, and warns of a port without it', async () => {
    const dataDir = join(folder, 'public');
    const { program, url, accessUrl } = await startServe(dataDir, [
      onUrl(),
      '--svc.access.host=0.0.0.0',
      '--svc.server.public-url=https://svc.example.com',
      '--svc.access.public-url=https://access.example.com/',
    ]);
    const servers = async (document: string): Promise<unknown> =>
      ((await (await fetch(document)).json()) as { servers: unknown }).servers;
    expect(await servers(`${url}/docs/openapi/public.json`)).toEqual([
      { url: 'https://svc.example.com' },
      { url: '/' },
    ]);
    expect(await servers(`${accessUrl}/api/openapi.json`)).toEqual([
      { url: 'https://access.example.com' },
      { url: '/' },
    ]);
    const { accessTlsUrl } = await program.line('ready');
    const request = get(`${String(accessTlsUrl)}/login/`, {
      ca: await readFile(join(dataDir, 'tls', 'ca.crt')),
      agent: false,
    });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^svc_loginform=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
    ]);
    const warnings = program.lines().filter(({ level }) => level === 'warn');
    expect(warnings).toEqual([
      expect.objectContaining({ option: 'svc.access.host', msg: expect.stringContaining('no TLS') }),
    ]);
  });

  test('ends its watches at SIGTERM, and no request is lost', async () => {
    const { program, url, token } = await startServe(join(folder, 'drain'), [onUrl()]);
    const watch = await fetch(`${url}/api/v1/namespaces?watch=true`, as(token));
    expect(watch.status).toBe(200);
    const reader = watch.body!.getReader();
    await reader.read();
    program.child.kill('SIGTERM');
    await program.line('stopping');
    while (!(await reader.read()).done);
    expect(await program.exited).toBe(0);
    expect(program.stdout).not.toContain('"level":"error"');
  });
});
