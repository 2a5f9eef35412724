import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { SmallDisk } from '../../../pkg/testenv/small-disk.ts';
import { killPrograms, startServe, type Served } from '../start-test-program.ts';

const run = promisify(execFile);
/** In CI the test fails if the machine cannot mount one. */
const testOnSmallDisk = process.env['CI'] === 'true' || (await SmallDisk.isPossible()) ? test : test.skip;
const tokens = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';
const users = '/api/v1/users/users/';
const sessions = '/api/v1/authentication/sessions/';
const profile = '/api/v1/users/profile/';
const password = 'correct horse battery staple';

afterEach(killPrograms);

interface Answer {
  status: number;
  text: string;
}

async function ask({ token }: Served, url: string, method = 'GET', body?: object): Promise<Answer> {
  const answer = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, text: await answer.text() };
}

/** Stored compressed; random digits compress least. */
const namespaceOf = (name: string, bytes = 0): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, annotations: { filler: randomBytes(bytes / 2).toString('hex') } },
});

/** The cookies of an administrator's session, and its CSRF token. */
async function logIn({ accessUrl }: Served): Promise<Record<string, string>> {
  const cookieOf = ({ headers }: Response, name: string): string =>
    headers
      .getSetCookie()
      .find((cookie) => cookie.startsWith(`${name}=`))!
      .slice(name.length + 1)
      .split(';', 1)[0]!;
  const page = `${accessUrl}/login/`;
  const formToken = cookieOf(await fetch(page), 'svc_loginform');
  const body = new URLSearchParams({ username: 'admin', password, csrfmiddlewaretoken: formToken });
  const answer = await fetch(page, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: `svc_loginform=${formToken}` },
    body,
  });
  const csrfToken = cookieOf(answer, 'svc_csrftoken');
  return {
    cookie: `svc_sessionid=${cookieOf(answer, 'svc_sessionid')}; svc_csrftoken=${csrfToken}`,
    'x-csrftoken': csrfToken,
  };
}

async function stop({ program }: Served): Promise<void> {
  program.child.kill('SIGTERM');
  expect(await program.exited).toBe(0);
}

testOnSmallDisk(
  'a full disk is named where somebody looks; reads, and deletions that need no room, go on; and it is over by itself',
  async () => {
    const disk = await SmallDisk.mount(260);
    const dataDir = join(disk.folder, 'data');
    const served = await startServe(dataDir, [`--svc.security.initial-admin-password=${password}`]);
    const { url, accessUrl, program } = served;
    const namespaces = `${url}/api/v1/namespaces`;
    expect((await ask(served, namespaces, 'POST', namespaceOf('before', 200_000))).status).toBe(201);
    expect(
      (await ask(served, `${url}${tokens}`, 'POST', { metadata: { name: 'revoked' }, spec: { displayName: 'x' } }))
        .status,
    ).toBe(201);
    const [administrator, first, second] = [await logIn(served), await logIn(served), await logIn(served)];
    const manage = (path: string, method: string, headers: Record<string, string>, body?: object): Promise<Response> =>
      fetch(`${accessUrl}${path}`, {
        method,
        redirect: 'manual',
        headers: { ...headers, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const created = await manage(users, 'POST', administrator, {
      username: 'mia',
      name: 'Mia',
      email: 'mia@example.com',
    });
    const user = `${users}${((await created.json()) as { id: string }).id}/`;
    const own = (await (await manage(sessions, 'GET', second)).json()) as { id: string; is_current: boolean }[];

    await disk.fill();
    const refused = await ask(served, namespaces, 'POST', namespaceOf('refused', 200_000));
    expect([refused.status, (JSON.parse(refused.text) as { message: string }).message]).toEqual([
      503,
      'the disk of the database is full',
    ]);
    expect((await ask(served, `${url}${tokens}/revoked`, 'DELETE')).status).toBe(200);
    expect(
      (await manage(`${sessions}${own.find(({ is_current: isCurrent }) => isCurrent)!.id}/`, 'DELETE', administrator))
        .status,
    ).toBe(204);
    expect((await manage('/logout/', 'POST', first)).headers.get('location')).toBe('/login/?done=logout');
    for (const headers of [first, second]) expect((await manage(profile, 'GET', headers)).status).toBe(401);
    expect(await (await manage(user, 'PATCH', administrator, { is_active: false })).json()).toMatchObject({
      is_active: false,
    });

    await pollUntil(async () => (await ask(served, `${url}/readyz`)).status === 503, 30_000, '/readyz fails');
    for (const page of [`${url}/readyz`, `${accessUrl}/readyz`])
      expect((await ask(served, page)).text).toContain('[-]writes failed: the disk of the database is full\n');
    for (const page of [`${url}/readyz`, `${accessUrl}/readyz`])
      expect(await ask(served, `${page}?exclude=writes`)).toEqual({ status: 200, text: 'ok' });
    expect((await ask(served, `${namespaces}/before`)).status).toBe(200);
    const { text } = await ask(served, `${url}/metrics`);
    expect(text).toMatch(/^svc_database_failures_total\{failure="disk_full"\} [1-9]/m);
    expect(text).toMatch(/^svc_database_writes_refused\{failure="disk_full"\} 1$/m);
    expect(program.lines()).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: 'a request failed: the disk of the database is full' }),
    );
    expect(program.lines()).toContainEqual(
      expect.objectContaining({
        level: 'error',
        failure: 'disk_full',
        msg: 'PostgreSQL takes no writes: the disk of the database is full',
      }),
    );
    const postgresLog = await readFile(join(dataDir, 'postgres.log'), 'utf8');
    expect(postgresLog).toMatch(/ 53100 ERROR: {2}could not .* No space left on device$/m);
    expect(postgresLog).not.toContain('INSERT');

    await disk.free();
    await pollUntil(async () => (await ask(served, `${url}/readyz`)).status === 200, 30_000, '/readyz passes');
    expect((await ask(served, namespaces, 'POST', namespaceOf('after', 200_000))).status).toBe(201);
    expect((await ask(served, `${namespaces}/refused`)).status).toBe(404);
    expect((await ask(served, `${url}/metrics`)).text).toMatch(
      /^svc_database_writes_refused\{failure="disk_full"\} 0$/m,
    );
    await stop(served);
    await disk.unmount();
  },
);

testOnSmallDisk(
  'a full disk of the write-ahead log ends PostgreSQL, which is named in the log, and starts again when there is room: what was acknowledged is there',
  async () => {
    const disk = await SmallDisk.mount(64);
    const folder = await mkdtemp('/tmp/svc-full-');
    await chmod(folder, 0o711);
    await stop(await startServe(folder));
    const wal = join(
      folder,
      (await readdir(folder)).find((name) => name.startsWith('pgdata-'))!,
      'pg_wal',
    );
    await run('sh', ['-c', 'cp -a "$0" "$1" && rm -r "$0" && ln -s "$1" "$0"', wal, join(disk.folder, 'wal')]);

    const served = await startServe(folder, ['--svc.api.request-timeout=3s']);
    const namespaces = `${served.url}/api/v1/namespaces`;
    await disk.fill();
    const acknowledged: string[] = [];
    for (let i = 0; ; i += 1) {
      const { status } = await ask(served, namespaces, 'POST', namespaceOf(`n${i}`, 200_000));
      if (status !== 201) {
        expect(status).toBeGreaterThanOrEqual(503);
        break;
      }
      acknowledged.push(`n${i}`);
    }
    const named = {
      failure: 'disk_full',
      msg: 'PostgreSQL could not be started again: the disk of the database is full',
    };
    await pollUntil(
      async () => served.program.lines().some(({ failure, msg }) => failure === named.failure && msg === named.msg),
      60_000,
      'the log names the disk',
    );
    expect((await ask(served, `${served.url}/readyz?exclude=writes`)).text).toContain('[-]database failed');

    await disk.free();
    await pollUntil(async () => (await ask(served, `${served.url}/readyz`)).status === 200, 60_000, '/readyz passes');
    for (const name of acknowledged) expect((await ask(served, `${namespaces}/${name}`)).status).toBe(200);
    expect(acknowledged.length).toBeGreaterThan(0);
    await stop(served);
    await rm(folder, { recursive: true, force: true });
    await disk.unmount();
  },
);
