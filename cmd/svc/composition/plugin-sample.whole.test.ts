import { chmod, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { newPersonalToken } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { killPrograms, Program } from '../start-test-program.ts';

const sample = fileURLToPath(new URL('../../../config/samples/plugins/blog', import.meta.url));
const token = newPersonalToken();
const plugin = '/apis/plugin.svc.run/v1alpha1/plugins/blog';
const blog = '/apis/blog.example.com/v1';
const forReaders = '/apis/api.blog.example.com/v1/posts';
const forUsers = '/apis/uc.api.blog.example.com/v1/posts';
const forConsole = '/apis/console.api.blog.example.com/v1';

let home: TestDatabase;
let folder: string;
let api: string;

beforeEach(async () => {
  home = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-sample-'));
  await chmod(folder, 0o711);
});
afterEach(async () => {
  await killPrograms();
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

async function startServer(verb: 'serve' | 'apiserver'): Promise<void> {
  const { connectionString, host, port, user } = home.connection;
  const database = connectionString ?? `postgres://${user}@${encodeURIComponent(String(host))}:${port}/${home.name}`;
  const program = new Program([
    verb,
    '--svc.server.port=0',
    `--svc.data.dir=${folder}`,
    `--svc.database.url=${database}`,
    `--svc.security.initial-admin-token=${token}`,
  ]);
  api = String((await program.line('ready'))['url']);
}

async function startManager(): Promise<void> {
  const tokenFile = join(folder, 'token');
  await writeFile(tokenFile, token, { mode: 0o600 });
  await new Program([
    'controller-manager',
    '--svc.controllers.port=0',
    `--svc.controllers.api-url=${api}`,
    `--svc.controllers.token-file=${tokenFile}`,
    `--svc.data.dir=${folder}`,
  ]).line('ready');
}

interface Call {
  method?: string;
  body?: object;
  isAnonymous?: boolean;
}

async function ask(
  path: string,
  { method = 'GET', body, isAnonymous = false }: Call = {},
): Promise<{ status: number; body: unknown }> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const headers = {
    ...(isAnonymous ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'content-type': type }),
  };
  const answer = await fetch(`${api}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.json() };
}

/** Waits until the response contains this. */
async function until(path: string, expected: object, call?: Call): Promise<void> {
  const deadline = Date.now() + 45_000;
  for (;;) {
    const answer = await ask(path, call);
    try {
      expect(answer).toMatchObject(expected);
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await delay(50);
  }
}

async function enable(enabled: boolean): Promise<void> {
  expect((await ask(plugin, { method: 'PATCH', body: { spec: { enabled } } })).status).toBe(200);
  await until(plugin, { body: { status: { phase: enabled ? 'Started' : 'Disabled' } } });
}

function newPost(slug: string, spec: object): object {
  return {
    apiVersion: 'blog.example.com/v1',
    kind: 'Post',
    metadata: { name: slug },
    spec: { title: slug, slug, ...spec },
  };
}

test.each([
  ['one process', async () => startServer('serve')],
  ['separate processes', async () => startServer('apiserver').then(startManager)],
])('the sample, copied into the folder of a running server: %s', async (_how, start) => {
  await start();
  await cp(sample, join(folder, 'plugins', 'blog'), { recursive: true });
  await until(plugin, {
    status: 200,
    body: { spec: { version: '1.0.0', enabled: false }, status: { phase: 'Disabled' } },
  });
  expect((await ask(`${blog}/posts`)).status).toBe(404);
  await enable(true);

  // Models, controllers, presets.
  for (const post of [
    newPost('later', { publish: true, publishAt: '2200-01-01T00:00:00Z', tags: ['news'] }),
    newPost('now', { title: 'Óbidos', publish: true, tags: ['news'] }),
  ]) {
    expect((await ask(`${blog}/posts`, { method: 'POST', body: post })).status).toBe(201);
  }
  await until(`${blog}/posts/later`, { body: { status: { phase: 'Scheduled' } } });
  await until(`${blog}/tags/news`, { body: { status: { posts: 2 } } });
  expect(await ask(`${blog}/posts?fieldSelector=initial=O`)).toMatchObject({
    body: { items: [{ metadata: { name: 'now' } }] },
  });
  expect(
    await ask(`${blog}/posts`, { method: 'POST', body: { ...newPost('now', {}), metadata: { name: 'again' } } }),
  ).toMatchObject({ status: 409 });

  // Endpoints.
  await until(
    `${forReaders}?tag=news&size=1`,
    { status: 200, body: { items: [{ slug: 'now' }], continue: expect.any(String) } },
    { isAnonymous: true },
  );
  expect(await ask(`${forReaders}/later`, { isAnonymous: true })).toMatchObject({
    status: 404,
    body: { kind: 'Status' },
  });
  expect(await ask(`${forReaders}?size=0`, { isAnonymous: true })).toMatchObject({
    status: 422,
    body: { details: { causes: [{ field: 'query.size' }] } },
  });
  const comment = { content: 'well said' };
  expect((await ask(`${forUsers}/now/comments`, { method: 'POST', body: comment, isAnonymous: true })).status).toBe(
    401,
  );
  expect(await ask(`${forUsers}/now/comments`, { method: 'POST', body: comment })).toMatchObject({
    status: 201,
    body: { ...comment, approved: false },
  });
  await until(`${forConsole}/stats`, {
    status: 200,
    body: { posts: { Draft: 0, Scheduled: 1, Published: 2 }, commentsWaiting: 1 },
  });
  expect(await ask(`${forConsole}/posts/now/publication`, { method: 'PUT', body: { publish: false } })).toMatchObject({
    status: 200,
    body: { spec: { publish: false } },
  });
  await until(`${forReaders}/now`, { status: 404 }, { isAnonymous: true });
  expect(await ask('/docs/openapi/public.json')).toMatchObject({
    body: {
      paths: { [`${forReaders}/{slug}`]: { get: { operationId: expect.stringContaining('readPublishedPost') } } },
    },
  });

  // Comments are deleted with their post.
  expect((await ask(`${blog}/posts/now`, { method: 'DELETE' })).status).toBe(200);
  await until(`${blog}/comments`, { body: { items: [] } });

  // Edit a file.
  const file = join(folder, 'plugins', 'blog', 'endpoints.ts');
  await writeFile(file, (await readFile(file, 'utf8')).replace("path: '/stats'", "path: '/figures'"));
  await until(`${forConsole}/figures`, { status: 200, body: { commentsWaiting: 0 } });
  await until(`${forConsole}/stats`, { status: 404 });

  // After the stop the user's presets stay, and the plugin's are deleted.
  await ask(`${blog}/posts/welcome`, { method: 'PATCH', body: { spec: { title: 'mine' } } });
  await enable(false);
  for (const path of [`${blog}/posts`, forReaders, `${forConsole}/figures`]) await until(path, { status: 404 });
  await enable(true);
  expect(await ask(`${blog}/posts`)).toMatchObject({
    body: { items: [{ metadata: { name: 'later' } }, { spec: { title: 'mine' } }] },
  });
  await until(`${blog}/tags/news`, { body: { status: { posts: 1 } } });
});
