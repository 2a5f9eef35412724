import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { pause } from '#pkg/apimachinery/index';
import { Database, silentLog } from '#pkg/database/index';
import { newPersonalToken } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program, startServe } from './start-test-program.ts';

const main = fileURLToPath(new URL('main.ts', import.meta.url));
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

test.each(['serve', 'apiserver', 'access-server', 'controller-manager'])(
  'svc %s does not start with a token that everybody can read',
  async (command) => {
    const dataDir = join(folder, `open-${command}`);
    await mkdir(dataDir);
    await writeFile(join(dataDir, 'admin-token'), newPersonalToken(), { mode: 0o644 });
    const program = new Program([command, '--svc.server.port=0', `--svc.data.dir=${dataDir}`, onUrl()]);
    expect(await program.exited).toBe(1);
    expect(program.stderr).toMatch(
      /^svc: The file .*\/admin-token holds a secret and is open to others \(mode 0644\); make it 0600/,
    );
  },
);

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

  test('is stopped at once by a second signal', async () => {
    const { program, url, token } = await startServe(join(folder, 'second-signal'), [onUrl()]);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const head = [
      `POST /api/v1/namespaces HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      'Content-Length: 9',
      'Expect: 100-continue',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    // Now the server waits for the body.
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 100 /);
    program.child.kill('SIGTERM');
    await program.line('stopping');
    const again = setInterval(() => program.child.kill('SIGTERM'), 100);
    expect(await program.exited).toBe(1);
    clearInterval(again);
    socket.destroy();
    expect(program.lines().at(-1)).toMatchObject({ level: 'fatal', msg: 'stopped at once by a second signal' });
  });

  test('shows each series of its metrics once, and logs the steps of a request', async () => {
    const { program, url, token } = await startServe(join(folder, 'metrics'), [
      onUrl(),
      '--svc.log.level=debug',
      '--svc.log.slow-request=1h',
    ]);
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'measured' } });
    const { headers } = as(token);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const created = await fetch(`${url}/api/v1/namespaces`, {
      method: 'POST',
      body,
      headers: { ...headers, 'x-request-id': 'follow-me', traceparent },
    });
    expect([created.status, created.headers.get('x-request-id')]).toEqual([201, 'follow-me']);
    const { metadata } = (await created.json()) as { metadata: { resourceVersion: string } };

    const text = await (await fetch(`${url}/metrics`, as(token))).text();
    const series = text
      .split('\n')
      .flatMap((line) => (line === '' || line.startsWith('#') ? [] : [line.slice(0, line.lastIndexOf(' '))]));
    expect(series.filter((each, i) => series.indexOf(each) !== i)).toEqual([]);
    expect(text).toMatch(/^svc_objects\{group="",resource="namespaces"\} \d/m);
    expect(text).toMatch(/^svc_change_log_newest_revision [1-9]/m);
    expect(text).toMatch(/^svc_token_lookups_total\{result="found"\} [1-9]/m);
    expect(text).toMatch(/^db_client_operation_duration_seconds_count\{.*db_query_summary="token-owners".*\} [1-9]/m);
    expect(text).toMatch(
      /^http_server_request_duration_seconds_count\{.*http_route="\/api\/\{version\}\/\{resource\}".*verb="create"\} 1/m,
    );

    const request = await program.line('request');
    expect(request).toMatchObject({ requestId: 'follow-me', traceId: '0af7651916cd43dd8448eb211c80319c', status: 201 });
    const written = program.lines().find(({ msg, requestId }) => msg === 'written' && requestId === 'follow-me');
    expect(written).toMatchObject({ revision: Number(metadata.resourceVersion) });
    expect(program.lines()).toContainEqual(expect.objectContaining({ msg: 'batch', batch: written!['batch'] }));
  });

  test('exits as soon as its history has been replaced, without the delay for load balancers', async () => {
    const own = await createTestDatabase();
    const { program } = await startServe(join(folder, 'rewound'), [
      `--svc.database.url=${databaseUrlOf(own)}`,
      '--svc.server.drain-timeout=10m',
      '--svc.server.shutdown-delay=4m',
    ]);
    const operator = await Database.connect({ connection: own.connection, log: silentLog });
    await operator.pool.query("UPDATE platform.meta SET system_identifier = 'another'");
    await operator.pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'",
    );
    await operator.close();
    expect(await program.exited).toBe(1);
    expect(program.lines().map(({ msg }) => msg)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^history that this process follows is gone/), 'stopped']),
    );
    await own.drop();
  });

  test('reports a port that is taken', async () => {
    const { url } = await startServe(join(folder, 'first'), [onUrl()]);
    const second = new Program([
      'serve',
      `--svc.server.port=${new URL(url).port}`,
      `--svc.data.dir=${join(folder, 'second')}`,
      onUrl(),
    ]);
    expect(await second.exited).toBe(1);
    expect(second.stderr).toMatch(/^svc: Port \d+ on 127\.0\.0\.1 is in use by another program; [^\n]*\n$/);
  });

  test('replicas on one database share tokens and objects', async () => {
    const initial = newPersonalToken();
    const [a, b] = await Promise.all(
      [join(folder, 'a'), join(folder, 'b')].map((dir) =>
        startServe(dir, [onUrl(), `--svc.security.initial-admin-token=${initial}`]),
      ),
    );
    expect([a!.token, b!.token]).toEqual([initial, initial]);
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shared' } });
    expect((await fetch(`${a!.url}/api/v1/namespaces`, { method: 'POST', body, ...as(initial) })).status).toBe(201);
    const revision = await fetch(`${a!.url}/api/v1/namespaces/shared`, as(initial));
    expect(await (await fetch(`${b!.url}/api/v1/namespaces/shared`, as(initial))).json()).toEqual(
      await revision.json(),
    );
  });

  test('runs the controllers in one of its processes: owned objects are deleted after their owner, and namespaces with their objects', async () => {
    // A separate database: the previous leader was killed, and its lease must expire.
    const database = await createTestDatabase();
    const url = `--svc.database.url=${databaseUrlOf(database)}`;
    const initial = newPersonalToken();
    const [a, b] = await Promise.all(
      [join(folder, 'lead-a'), join(folder, 'lead-b')].map((dir) =>
        startServe(dir, [url, `--svc.security.initial-admin-token=${initial}`]),
      ),
    );
    const call = (method: string, path: string, body?: unknown) =>
      fetch(`${a!.url}${path}`, {
        method,
        ...as(initial),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const makeNamespace = async (name: string): Promise<{ metadata: { uid: string } }> => {
      const answer = await call('POST', '/api/v1/namespaces', {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name },
      });
      expect(answer.status).toBe(201);
      return (await answer.json()) as { metadata: { uid: string } };
    };
    const leases = (namespace: string): string => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    const makeLease = async (namespace: string, metadata: object): Promise<void> => {
      expect(
        (await call('POST', leases(namespace), { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata }))
          .status,
      ).toBe(201);
    };
    const isGone = async (path: string): Promise<void> => {
      while ((await call('GET', path)).status !== 404) await pause(20);
    };
    const { metadata } = await makeNamespace('owner');
    await makeLease('default', {
      name: 'owned',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'owner', uid: metadata.uid }],
    });
    await makeNamespace('full');
    await makeLease('full', { name: 'inside' });
    for (const name of ['owner', 'full']) expect((await call('DELETE', `/api/v1/namespaces/${name}`)).status).toBe(200);
    await isGone(`${leases('default')}/owned`);
    await isGone('/api/v1/namespaces/full');

    const leading = await call('GET', `${leases('svc-system')}/svc-controllers.namespaces`);
    const { spec } = (await leading.json()) as { spec: { holderIdentity: string } };
    const leaders = [a!, b!].filter(({ program }) =>
      program.lines().some(({ msg, identity }) => msg === 'leading' && identity === spec.holderIdentity),
    );
    expect(leaders).toHaveLength(1);
    const text = await (await fetch(`${leaders[0]!.url}/metrics`, as(initial))).text();
    expect(text).toMatch(/^controller_runtime_reconcile_total\{controller="namespaces",result="success"\} [1-9]/m);
    expect(text).toMatch(/^workqueue_depth\{name="namespaces"\} \d/m);

    // A host gives its leases back at its stop, and the other process continues.
    leaders[0]!.program.child.kill('SIGTERM');
    expect(await leaders[0]!.program.exited).toBe(0);
    const successor = leaders[0] === a ? b! : a!;
    expect((await successor.program.line('leading'))['identity']).not.toBe(spec.holderIdentity);
    successor.program.child.kill('SIGTERM');
    expect(await successor.program.exited).toBe(0);
    await database.drop();
  });
});

describe('the program', () => {
  const cases: { reason: string; args: string[]; code?: number; stdout?: RegExp; stderr: RegExp }[] = [
    { reason: 'prints its options', args: ['--help'], code: 0, stdout: /svc\.server\.port +port +8090/, stderr: /^$/ },
    {
      reason: 'refuses an unknown option',
      args: ['serve', '--svc.server.prot=1'],
      stderr: /^svc: There is no option [^\n]*did you mean --svc\.server\.port\?\n$/,
    },
    {
      reason: 'reports a missing option of a command',
      args: ['unblock'],
      stderr: /^svc: required option '--user <name>' not specified\n$/,
    },
    {
      reason: 'reports an unavailable database',
      args: ['apiserver', '--svc.database.url=postgres://127.0.0.1:1/x', '--svc.database.start-timeout=0s'],
      stderr: /^svc: PostgreSQL cannot be reached[^\n]*\n$/,
    },
    {
      reason: 'reports a file instead of a data folder',
      args: ['serve', `--svc.data.dir=${main}/data`],
      stderr: /^svc: [^\n]*main\.ts\/data[^\n]*\n$/,
    },
  ];
  test.each(cases)('$reason', async ({ args, code = 1, stdout = /^$/, stderr }) => {
    const program = new Program(args);
    expect(await program.exited).toBe(code);
    expect(program.stdout).toMatch(stdout);
    expect(program.stderr).toMatch(stderr);
  });

  test('migrates a database and exits', async () => {
    const database = await createTestDatabase();
    const url = databaseUrlOf(database);
    for (let i = 0; i < 2; i += 1) {
      const program = new Program(['migrate', `--svc.database.url=${url}`]);
      expect(await program.exited).toBe(0);
      expect(program.lines().at(-1)).toMatchObject({ msg: 'the database is up to date' });
    }
    await database.drop();
  });
});
