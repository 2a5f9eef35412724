import { createHmac } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { newPersonalToken } from '#pkg/identity/index';
import { realDataPresent, realDefinitions, realExamples } from '../../../../pkg/testenv/contract/real-data-files.ts';
import { createTestDatabase, type TestDatabase } from '../../../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program } from '../../start-test-program.ts';

const sample = fileURLToPath(new URL('../../../../config/samples/plugins/blog', import.meta.url));
const adminToken = newPersonalToken();
const password = 'three wet boots';

let home: TestDatabase;
let elsewhere: TestDatabase;
let folder: string;
let file: string;

beforeAll(async () => {
  [home, elsewhere] = [await createTestDatabase(), await createTestDatabase()];
  folder = await mkdtemp(join(tmpdir(), 'svc-backup-'));
  await chmod(folder, 0o711);
  file = join(folder, 'svc.backup');
});
afterEach(killPrograms);
afterAll(async () => {
  await home.drop();
  await elsewhere.drop();
  await rm(folder, { recursive: true, force: true });
});

interface Server {
  program: Program;
  api: string;
  access: string;
}

async function serve(database: TestDatabase): Promise<Server> {
  const program = new Program([
    'serve',
    '--svc.server.port=0',
    `--svc.data.dir=${folder}`,
    `--svc.database.url=${databaseUrlOf(database)}`,
    `--svc.security.initial-admin-token=${adminToken}`,
    `--svc.security.initial-admin-password=${password}`,
  ]);
  const { url, accessUrl } = await program.line('ready');
  return { program, api: String(url), access: String(accessUrl) };
}

async function command(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const program = new Program([...args, '--svc.log.level=warn']);
  const code = await program.exited;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

const onDatabase = (database: TestDatabase): string[] => [
  `--svc.data.dir=${folder}`,
  `--svc.database.url=${databaseUrlOf(database)}`,
];

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function ask(
  url: string,
  {
    method = 'GET',
    body,
    headers = { authorization: `Bearer ${adminToken}` },
  }: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const answer = await fetch(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    body: (text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : { text }) as Answer['body'],
  };
}

async function created(url: string, body: unknown, headers?: Record<string, string>): Promise<Record<string, string>> {
  const answer = await ask(url, { method: 'POST', body, ...(headers === undefined ? {} : { headers }) });
  if (answer.status !== 201) throw new Error(`${url}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body as Record<string, string>;
}

async function until(look: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 150_000;
  while (!(await look())) if (performance.now() > deadline) throw new Error('it never came to be so');
}

interface Resource {
  path: string;
  name: string;
}

interface ResourceList {
  resources: { name: string; verbs: string[] }[];
}

async function resourcesOf(api: string): Promise<Resource[]> {
  const groups = (await ask(`${api}/apis`)).body['groups'] as { versions: { groupVersion: string }[] }[];
  const paths = [
    '/api/v1',
    ...groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `/apis/${groupVersion}`)),
  ];
  const found: Resource[] = [];
  for (const path of paths) {
    const { resources = [] } = (await ask(`${api}${path}`)).body as Partial<ResourceList>;
    found.push(
      ...resources
        .filter(({ name, verbs }) => verbs.includes('list') && !name.includes('/'))
        .map(({ name }) => ({ path: `${path}/${name}`, name })),
    );
  }
  return found;
}

/** Everything in the API except what changes by itself: leases, events and plugins. */
async function everythingIn(api: string): Promise<Record<string, unknown>> {
  const shown: Record<string, unknown> = {};
  for (const { path, name } of await resourcesOf(api))
    if (!['leases', 'events', 'plugins'].includes(name))
      shown[path] = (await ask(`${api}${path}?limit=5000`)).body['items'];
  return shown;
}

async function fillPlatform({ api }: Server): Promise<void> {
  await cp(sample, join(folder, 'plugins', 'blog'), { recursive: true });
  const plugin = `${api}/apis/plugin.svc.run/v1alpha1/plugins/blog`;
  await until(async () => (await ask(plugin)).status === 200);
  const patched = await fetch(plugin, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/merge-patch+json' },
    body: '{"spec":{"enabled":true}}',
  });
  expect(patched.status).toBe(200);
  await until(async () => ((await ask(plugin)).body['status'] as { phase?: string } | undefined)?.phase === 'Started');
  const post = {
    apiVersion: 'blog.example.com/v1',
    kind: 'Post',
    metadata: { name: 'wet' },
    spec: { title: 'Óbidos', slug: 'wet', publish: true, tags: ['news'] },
  };
  await created(`${api}/apis/blog.example.com/v1/posts`, post, {
    authorization: `Bearer ${adminToken}`,
    'idempotency-key': 'only-once',
  });
  // Including the one that the plugin ships.
  await until(
    async () =>
      ((await ask(`${api}/apis/blog.example.com/v1/tags/news`)).body['status'] as { posts?: number } | undefined)
        ?.posts === 2,
  );
  for (const project of ['gateway-api', 'cert-manager', 'prometheus-operator', 'halo']) {
    for (const { content } of realDefinitions(project))
      await ask(`${api}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, { method: 'POST', body: content });
    await until(async () =>
      (
        (await ask(`${api}/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=500`)).body['items'] as {
          status?: { conditions?: { type: string; status: string }[] };
        }[]
      ).every(({ status }) =>
        status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True'),
      ),
    );
    for (const { content } of realExamples(project)) {
      const namespace = content.metadata.namespace ?? 'default';
      if (namespace !== 'default')
        await ask(`${api}/api/v1/namespaces`, {
          method: 'POST',
          body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
        });
      const plural = (await ask(`${api}/${content.apiVersion === 'v1' ? 'api' : 'apis'}/${content.apiVersion}`))
        .body as Partial<{ resources: { name: string; kind: string; namespaced: boolean }[] }>;
      const resource = plural.resources?.find(({ kind, name }) => kind === content.kind && !name.includes('/'));
      if (resource !== undefined)
        await ask(
          `${api}/apis/${content.apiVersion}${resource.namespaced ? `/namespaces/${namespace}` : ''}/${resource.name}`,
          { method: 'POST', body: content },
        );
    }
  }
}

interface People {
  privateToken: string;
  key: Record<string, string>;
  bearer: string;
}

async function login(access: string): Promise<Answer> {
  return ask(`${access}/api/v1/authentication/auth/`, {
    method: 'POST',
    body: { username: 'mia', password },
    headers: {},
  });
}

async function fillAccess({ access }: Server): Promise<People> {
  const admin = (
    await ask(`${access}/api/v1/authentication/auth/`, {
      method: 'POST',
      body: { username: 'admin', password },
      headers: {},
    })
  ).body['token'] as string;
  const asAdmin = { authorization: `Bearer ${admin}` };
  const { id } = await created(`${access}/api/v1/orgs/orgs/`, { name: 'Press' }, asAdmin);
  await created(
    `${access}/api/v1/users/users/`,
    { username: 'mia', name: 'Mia', email: 'mia@example.com', password },
    { ...asAdmin, 'x-svc-org': id! },
  );
  const privateToken = (await command('private-token', 'create', '--user=mia', ...onDatabase(home))).stdout.trim();
  const key = await created(
    `${access}/api/v1/authentication/access-keys/`,
    {},
    { authorization: `Token ${privateToken}` },
  );
  return { privateToken, key, bearer: (await login(access)).body['token'] as string };
}

async function signedProfile(access: string, { id, secret }: Record<string, string>): Promise<Answer> {
  const date = new Date().toUTCString();
  const signature = createHmac('sha256', secret!)
    .update(`(request-target): get /api/v1/users/profile/\ndate: ${date}`)
    .digest('base64');
  return ask(`${access}/api/v1/users/profile/`, {
    headers: {
      date,
      authorization: `Signature keyId="${id}",algorithm="hmac-sha256",headers="(request-target) date",signature="${signature}"`,
    },
  });
}

test('a restored database has everything: objects with their revisions, users with all credentials, and the backup has no secret in clear text', async () => {
  const server = await serve(home);
  await fillPlatform(server);
  const people = await fillAccess(server);
  const before = await everythingIn(server.api);
  const filledAt = encodeURIComponent(new Date().toISOString());
  const audited = async (api: string): Promise<unknown> =>
    (await ask(`${api}/apis/audit.k8s.io/v1/events?to=${filledAt}&limit=250`)).body['items'];
  const eventsBefore = await audited(server.api);
  expect(eventsBefore).toContainEqual(expect.objectContaining({ verb: 'create' }));
  const { metadata } = (await ask(`${server.api}/api/v1/namespaces`)).body as { metadata: { resourceVersion: string } };
  expect(await command('backup', ...onDatabase(home), `--to=${file}`)).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await command('backup', 'verify', file)).toEqual({ code: 0, stdout: '', stderr: '' });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  server.program.child.kill('SIGTERM');
  await server.program.exited;

  expect(await command('restore', ...onDatabase(elsewhere), `--from=${file}`)).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
  const restored = await serve(elsewhere);
  // One warning is enough: no server takes it for another restore.
  expect(restored.program.lines().map(({ msg }) => msg)).not.toContain(
    'the database was restored or failed over: revisions jump, and watches of older revisions start again',
  );
  await until(async () => (await ask(`${restored.api}/apis/blog.example.com/v1/posts`)).status === 200);
  const after = await everythingIn(restored.api);
  expect(Object.keys(after)).toEqual(Object.keys(before));
  expect(after).toEqual(before);
  expect(await audited(restored.api)).toEqual(eventsBefore);
  if (realDataPresent) expect(Object.values(before).flat().length).toBeGreaterThan(80);

  const now = (await ask(`${restored.api}/api/v1/namespaces`)).body as { metadata: { resourceVersion: string } };
  expect(Number(now.metadata.resourceVersion)).toBeGreaterThan(Number(metadata.resourceVersion) + 999_999_999);
  const watched = await fetch(`${restored.api}/api/v1/namespaces?watch=1&resourceVersion=${metadata.resourceVersion}`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  expect(await watched.text()).toContain('"code":410');
  const post = {
    apiVersion: 'blog.example.com/v1',
    kind: 'Post',
    metadata: { name: 'wet' },
    spec: { title: 'Óbidos', slug: 'wet', publish: true, tags: ['news'] },
  };
  // The backup contains the result, so it is not done again.
  const again = await ask(`${restored.api}/apis/blog.example.com/v1/posts`, {
    method: 'POST',
    body: post,
    headers: { authorization: `Bearer ${adminToken}`, 'idempotency-key': 'only-once' },
  });
  expect(again).toMatchObject({ status: 201, body: { metadata: { name: 'wet' } } });

  expect((await login(restored.access)).status).toBe(201);
  expect(
    await ask(`${restored.access}/api/v1/users/profile/`, {
      headers: { authorization: `Token ${people.privateToken}` },
    }),
  ).toMatchObject({ status: 200, body: { username: 'mia' } });
  expect(await signedProfile(restored.access, people.key)).toMatchObject({ status: 200, body: { username: 'mia' } });
  expect(
    await ask(`${restored.access}/api/v1/users/profile/`, { headers: { authorization: `Bearer ${people.bearer}` } }),
  ).toMatchObject({ status: 401 });

  const plain = gunzipSync(await readFile(file)).toString('latin1');
  expect(plain).toContain('mia@example.com');
  const keyText = (await readFile(join(folder, 'secret-key'), 'utf8')).trim();
  for (const secret of [adminToken, password, people.privateToken, people.key['secret']!, people.bearer, keyText]) {
    expect(secret.length).toBeGreaterThan(10);
    for (const form of [
      secret,
      Buffer.from(secret).toString('hex'),
      Buffer.from(secret).toString('base64').slice(0, -4),
    ])
      expect(plain.includes(form)).toBe(false);
  }
});

async function withDatabase<T>(database: TestDatabase, work: (pool: Database['pool']) => Promise<T>): Promise<T> {
  const opened = await Database.connect({ connection: database.connection, log: silentLog, applicationName: 'test' });
  try {
    return await work(opened.pool);
  } finally {
    await opened.close();
  }
}

/** Connections of servers, after `seconds`. */
async function serversOn(pool: Database['pool'], seconds: number): Promise<number> {
  await pool.query('SELECT pg_sleep($1)', [seconds]);
  const { rows } = await pool.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'svc apiserver %'",
  );
  return rows[0]!.n;
}

test('a running access server is detected, and nothing is replaced under it', async () => {
  const tokenFile = join(folder, 'token');
  await writeFile(tokenFile, adminToken, { mode: 0o600 });
  const args = [
    '--svc.access.port=0',
    '--svc.access.api-url=http://127.0.0.1:1',
    `--svc.access.token-file=${tokenFile}`,
    ...onDatabase(elsewhere),
  ];
  await new Program(['access-server', ...args]).line('ready');
  const { code, stderr } = await command('restore', '--replace', ...onDatabase(elsewhere), `--from=${file}`);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /^svc: Servers are using this database \(\d+ connections? of svc\): stop all of them before --replace\.\n$/,
    ),
  });
});

test('keys of another database are reported when the backup is restored', async () => {
  const other = join(folder, 'other-keys');
  await mkdir(other);
  await writeFile(join(other, 'secret-key'), 'ab'.repeat(32), { mode: 0o600 });
  await withDatabase(elsewhere, async (pool) => until(async () => (await serversOn(pool, 0)) === 0));
  const { code, stdout, stderr } = await command(
    'restore',
    '--replace',
    `--svc.data.dir=${other}`,
    `--svc.database.url=${databaseUrlOf(elsewhere)}`,
    `--from=${file}`,
  );
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(JSON.parse(stderr)).toMatchObject({
    level: 'warn',
    msg: 'the configured keys cannot open the restored secrets: a server does not start with them; configure the keys of the backed-up server',
    reason: expect.stringContaining('sealed with another key than there is in'),
  });
});

test('concurrent backups to one file do not affect each other, and neither does one that is ended', async () => {
  const target = join(folder, 'busy.backup');
  const parts = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name.startsWith('busy.'));
  // The partial file of a killed backup.
  await writeFile(`${target}.partial`, 'part');
  const longAgo = new Date(Date.now() - 3_700_000);
  await utimes(`${target}.partial`, longAgo, longAgo);
  const begin = (): Program =>
    new Program(['backup', ...onDatabase(home), `--to=${target}`, '--force', '--svc.log.level=warn']);
  const running: Program[] = [];
  await withDatabase(home, async (pool) => {
    const client = await pool.connect();
    await client.query('BEGIN; LOCK TABLE platform.change_log');
    for (const names of [
      ['busy.backup.partial'],
      ['busy.backup.2.partial', 'busy.backup.partial'],
      ['busy.backup.2.partial', 'busy.backup.3.partial', 'busy.backup.partial'],
    ]) {
      running.push(begin());
      await until(
        async () =>
          (await parts()).toSorted().join() === names.join() &&
          (await stat(`${target}.partial`).catch(() => undefined))?.size === 0,
      );
    }
    running[1]!.child.kill('SIGTERM');
    expect(await running[1]!.exited).toBe(143);
    expect((await parts()).toSorted()).toEqual(['busy.backup.3.partial', 'busy.backup.partial']);
    await client.query('COMMIT');
    client.release();
  });
  for (const program of [running[0]!, running[2]!]) expect([await program.exited, program.stderr]).toEqual([0, '']);
  expect(await parts()).toEqual(['busy.backup']);
  expect(
    gunzipSync(await readFile(target))
      .subarray(0, 14)
      .toString(),
  ).toBe('{"svcBackup":1');
});

test('an invalid backup is refused before a database is created for it', async () => {
  const fresh = join(folder, 'fresh');
  expect(await command('restore', `--svc.data.dir=${fresh}`, `--from=${folder}`)).toEqual({
    code: 1,
    stdout: '',
    stderr: `svc: ${folder} is a folder; give the name of a file in it.\n`,
  });
  await expect(stat(fresh)).rejects.toThrow('ENOENT');
});

describe('the commands refuse with one sentence', () => {
  const refusals: { reason: string; args: () => string[]; sentence: RegExp }[] = [
    {
      reason: 'an existing file',
      args: () => ['backup', ...onDatabase(home), `--to=${file}`],
      sentence: /svc\.backup exists already; give another name, or --force to replace it\.\n$/,
    },
    {
      reason: 'a folder',
      args: () => ['backup', ...onDatabase(home), `--to=${folder}`, '--force'],
      sentence: /^svc: \/.* is a folder; give the name of a file in it\.\n$/,
    },
    {
      reason: 'a missing folder',
      args: () => ['backup', ...onDatabase(home), `--to=${folder}/mount/svc.backup`],
      sentence: /^svc: There is no folder .*\/mount for the backup\.\n$/,
    },
    {
      reason: 'a folder that cannot exist',
      args: () => ['backup', ...onDatabase(home), '--to=/proc/x/y'],
      sentence: /^svc: There is no folder \/proc\/x for the backup\.\n$/,
    },
    {
      reason: 'a device',
      args: () => ['backup', ...onDatabase(home), '--to=/dev/null', '--force'],
      sentence: /^svc: \/dev\/null is not a regular file; redirect the backup there with >\.\n$/,
    },
    {
      reason: 'a database with data',
      args: () => ['restore', ...onDatabase(home), `--from=${file}`],
      sentence: /^svc: The database already has the schema access and platform; /,
    },
    {
      reason: 'no such file',
      args: () => ['restore', ...onDatabase(home), `--from=${folder}/nothing`],
      sentence: /^svc: There is no file .*nothing\.\n$/,
    },
    {
      reason: 'a folder without a database',
      args: () => ['backup', `--svc.data.dir=${folder}/none`, `--to=${folder}/other`],
      sentence: /^svc: There is no database in /,
    },
    {
      reason: 'an unknown option',
      args: () => ['restore', ...onDatabase(home), '--replce'],
      sentence: /replce/,
    },
  ];
  test.each(refusals)('$reason', async ({ args, sentence }) => {
    const { code, stdout, stderr } = await command(...args());
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(sentence);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
