import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { pause } from '#pkg/apimachinery/index';
import { newPersonalToken } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { killPrograms, Program } from '../start-test-program.ts';

const token = newPersonalToken();
let home: TestDatabase;
let folder: string;
let tokenFile: string;

beforeAll(async () => {
  home = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-controllers-'));
  await chmod(folder, 0o711);
  tokenFile = join(folder, 'token');
  await writeFile(tokenFile, `${token}\n`, { mode: 0o600 });
});
afterEach(killPrograms);
afterAll(async () => {
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

async function startApiServer(): Promise<string> {
  const { connectionString, host, port, user } = home.connection;
  const database = connectionString ?? `postgres://${user}@${encodeURIComponent(String(host))}:${port}/${home.name}`;
  const program = new Program([
    'apiserver',
    '--svc.server.port=0',
    `--svc.data.dir=${join(folder, 'api')}`,
    `--svc.database.url=${database}`,
    `--svc.security.initial-admin-token=${token}`,
  ]);
  return String((await program.line('ready'))['url']);
}

async function startManager(api: string): Promise<{ program: Program; url: string }> {
  const program = new Program([
    'controller-manager',
    '--svc.controllers.port=0',
    `--svc.controllers.api-url=${api}`,
    `--svc.controllers.token-file=${tokenFile}`,
  ]);
  return { program, url: `http://127.0.0.1:${String((await program.line('ready'))['port'])}` };
}

describe('svc controller-manager', () => {
  test('takes over from one that was killed during its work, within the duration of its lease', async () => {
    const api = await startApiServer();
    const call = (method: string, path: string, body?: object): Promise<Response> =>
      fetch(`${api}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'full' } };
    const leases = '/apis/coordination.k8s.io/v1/namespaces/full/leases';
    const isGone = async (path: string): Promise<void> => {
      while ((await call('GET', path)).status !== 404) await pause(50);
    };

    const first = await startManager(api);
    await first.program.line('leading');
    const second = await startManager(api);
    expect(await (await fetch(`${second.url}/readyz`)).text()).toBe('ok');
    // Its finalizer keeps the namespace, so that work is left when the leader dies.
    expect((await call('POST', '/api/v1/namespaces', namespace)).status).toBe(201);
    await call('POST', leases, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'held', finalizers: ['test.example.com/held'] },
    });
    await call('POST', leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'free' } });
    expect((await call('DELETE', '/api/v1/namespaces/full')).status).toBe(200);
    await isGone(`${leases}/free`);
    first.program.child.kill('SIGKILL');
    await first.program.exited;
    const release = await fetch(`${api}${leases}/held`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/merge-patch+json' },
      body: '{"metadata":{"finalizers":null}}',
    });
    expect(release.status).toBe(200);
    await isGone('/api/v1/namespaces/full');
    expect(second.program.lines().some(({ msg }) => msg === 'leading')).toBe(true);

    const metrics = (authorization?: string): Promise<Response> =>
      fetch(`${second.url}/metrics`, authorization === undefined ? {} : { headers: { authorization } });
    expect((await metrics()).status).toBe(401);
    expect((await metrics(`Bearer ${newPersonalToken()}`)).status).toBe(401);
    const shown = await (await metrics(`Bearer ${token}`)).text();
    expect(shown).toMatch(/^controller_runtime_reconcile_total\{controller="namespaces",result="success"\} [1-9]/m);
    // The alert for a process that is not ready counts this metric.
    expect(shown).toMatch(
      /^http_server_request_duration_seconds_count\{.*http_response_status_code="200".*http_route="\/readyz".*\} 1$/m,
    );

    second.program.child.kill('SIGTERM');
    expect(await second.program.exited).toBe(0);
  });

  const refusals: { reason: string; args: string[]; says: RegExp }[] = [
    {
      reason: 'a missing file',
      args: ['--svc.controllers.token-file=/nowhere/token'],
      says: /^svc: \/nowhere\/token holds no token/,
    },
    {
      reason: 'a file without a token',
      args: ['--svc.controllers.token-file=package.json'],
      says: /^svc: package.json holds no personal token/,
    },
    {
      reason: 'an invalid URL',
      args: ['--svc.controllers.api-url=nonsense'],
      says: /^svc: svc.controllers.api-url is "nonsense"/,
    },
  ];
  test.each(refusals)('ends with one sentence for $reason', async ({ args, says }) => {
    const program = new Program(['controller-manager', `--svc.controllers.token-file=${tokenFile}`, ...args]);
    expect(await program.exited).toBe(1);
    expect(program.stderr).toMatch(says);
    expect(program.stderr.trimEnd().split('\n')).toHaveLength(1);
  });
});
