import { mkdtemp, rm, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program, startServe } from './start-test-program.ts';

let home: TestDatabase;
let folder: string;

beforeAll(async () => {
  home = await createTestDatabase();
  // The embedded PostgreSQL must be able to pass, which runs as another user where the tests run as root.
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
const as = (token: string): { headers: Record<string, string> } => ({ headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' } });

describe('svc serve', () => {
  test('on an embedded PostgreSQL: ready, stopped by SIGTERM, and all there at the next start', async () => {
    const dataDir = join(folder, 'embedded');
    const first = await startServe(dataDir);
    expect(await (await fetch(`${first.url}/readyz`)).text()).toBe('ok');
    expect((await fetch(`${first.url}/api/v1/namespaces`)).status).toBe(401);
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kept' } });
    expect((await fetch(`${first.url}/api/v1/namespaces`, { method: 'POST', body, ...as(first.token) })).status).toBe(201);
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

  test('ends its watches at SIGTERM and lets no request be lost', async () => {
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

  test('shows each series of its metrics once, and follows a request through its log', async () => {
    const { program, url, token } = await startServe(join(folder, 'metrics'), [onUrl(), '--svc.log.level=debug', '--svc.log.slow-request=1h']);
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'measured' } });
    const { headers } = as(token);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const created = await fetch(`${url}/api/v1/namespaces`, { method: 'POST', body, headers: { ...headers, 'x-request-id': 'follow-me', traceparent } });
    expect([created.status, created.headers.get('x-request-id')]).toEqual([201, 'follow-me']);
    const { metadata } = (await created.json()) as { metadata: { resourceVersion: string } };

    const text = await (await fetch(`${url}/metrics`, as(token))).text();
    const series = text.split('\n').flatMap((line) => (line === '' || line.startsWith('#') ? [] : [line.slice(0, line.lastIndexOf(' '))]));
    expect(series.filter((each, i) => series.indexOf(each) !== i)).toEqual([]);
    expect(text).toMatch(/^svc_objects\{group="",resource="namespaces"\} \d/m);
    expect(text).toMatch(/^svc_change_log_newest_revision [1-9]/m);
    expect(text).toMatch(/^svc_token_lookups_total\{result="found"\} [1-9]/m);
    expect(text).toMatch(/^db_client_operation_duration_seconds_count\{.*db_query_summary="token-owners".*\} [1-9]/m);
    expect(text).toMatch(/^http_server_request_duration_seconds_count\{.*http_route="\/api\/\{version\}\/\{resource\}".*verb="create"\} 1/m);

    const request = await program.line('request');
    expect(request).toMatchObject({ requestId: 'follow-me', traceId: '0af7651916cd43dd8448eb211c80319c', status: 201 });
    const written = program.lines().find(({ msg, requestId }) => msg === 'written' && requestId === 'follow-me');
    expect(written).toMatchObject({ revision: Number(metadata.resourceVersion) });
    expect(program.lines()).toContainEqual(expect.objectContaining({ msg: 'batch', batch: written!['batch'] }));
  });
});

describe('the program', () => {
  const cases: { reason: string; args: string[]; code: number; stdout?: RegExp; stderr: RegExp }[] = [
    { reason: 'prints its options', args: ['--help'], code: 0, stdout: /svc\.server\.port +port +8090/, stderr: /^$/ },
    { reason: 'refuses an unknown option', args: ['serve', '--svc.server.prot=1'], code: 1, stderr: /^svc: There is no option [^\n]*did you mean --svc\.server\.port\?\n$/ },
  ];
  test.each(cases)('$reason', async ({ args, code, stdout = /^$/, stderr }) => {
    const program = new Program(args);
    expect(await program.exited).toBe(code);
    expect(program.stdout).toMatch(stdout);
    expect(program.stderr).toMatch(stderr);
  });
});
