import { chmod, cp, mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { pause } from '#pkg/apimachinery/index';
import { newPersonalToken } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { killPrograms, Program } from '../start-test-program.ts';

const token = newPersonalToken();
const plugins = '/apis/plugin.svc.run/v1alpha1/plugins';
let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-plugin-program-'));
  await chmod(folder, 0o711);
  await writeFile(join(folder, 'token'), token, { mode: 0o600 });
  await mkdir(join(folder, 'shelf/presets'), { recursive: true });
  const note = {
    apiVersion: 'shelf.example.com/v1',
    kind: 'Note',
    metadata: { name: 'welcome' },
    spec: { title: 'Welcome' },
  };
  await writeFile(join(folder, 'shelf/presets/welcome.yaml'), JSON.stringify(note));
  await writeFile(
    join(folder, 'shelf/plugin.yaml'),
    'apiVersion: plugin.svc.run/v1alpha1\nkind: Plugin\nmetadata: { name: shelf }\nspec: { version: 1.0.0, requires: ">=2.22.0", permissions: [{ apiGroups: [shelf.example.com], resources: [notes, notes/status], verbs: [get, list, watch, patch] }] }\n',
  );
  const module = `
    import { controllerFor, defineModel, definePlugin, Type, type ObjectOf } from '@svc/sdk';
    const Note = defineModel({ group: 'shelf.example.com', version: 'v1', kind: 'Note', plural: 'notes', singular: 'note',
      spec: Type.Object({ title: Type.String() }), status: Type.Object({ length: Type.Integer() }) });
    const lengthOf = ({ spec }: ObjectOf<typeof Note>): number => spec.title.length;
    const measuring = controllerFor(Note).reconcile(async ({ name }, { client, lister }) => {
      const note = lister(Note).get({ namespace: '', name });
      if (note !== undefined && note.status?.length !== lengthOf(note)) {
        await client.patchStatus(Note, { namespace: '', name }, { type: 'merge', patch: { status: { length: lengthOf(note) } } });
      }
    });
    export default definePlugin({ models: [Note], controllers: [measuring] });
  `;
  await writeFile(join(folder, 'shelf/index.ts'), module);
});
afterEach(killPrograms);
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function startServer(verb: 'serve' | 'apiserver'): Promise<{ program: Program; url: string }> {
  const { connectionString, host, port, user } = database.connection;
  const databaseUrl =
    connectionString ?? `postgres://${user}@${encodeURIComponent(String(host))}:${port}/${database.name}`;
  const program = new Program([
    verb,
    '--svc.server.port=0',
    `--svc.data.dir=${join(folder, 'data')}`,
    `--svc.database.url=${databaseUrl}`,
    `--svc.security.initial-admin-token=${token}`,
  ]);
  return { program, url: String((await program.line('ready'))['url']) };
}

async function startManager(api: string): Promise<Program> {
  const program = new Program([
    'controller-manager',
    '--svc.controllers.port=0',
    `--svc.data.dir=${join(folder, 'data')}`,
    `--svc.plugins.dir=${join(folder, 'plugins')}`,
    `--svc.controllers.api-url=${api}`,
    `--svc.controllers.token-file=${join(folder, 'token')}`,
  ]);
  await program.line('leading');
  return program;
}

interface Answer {
  status: number;
  body: { status?: { phase?: string; length?: number }; metadata?: { resourceVersion: string } };
}

/** Retries until the response is as expected. */
async function call(
  api: string,
  method: string,
  path: string,
  { body, until = () => true }: { body?: object; until?: (answer: Answer) => boolean } = {},
): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  };
  for (;;) {
    const response = await fetch(`${api}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = { status: response.status, body: (await response.json()) as Answer['body'] };
    if (until(answer)) return answer;
    await pause(50);
  }
}

async function outcomeOf(args: string[]): Promise<{ code: number | null; text: string }> {
  const program = new Program(args);
  return { code: await program.exited, text: program.stdout + program.stderr };
}

const inPhase = (phase: string) => ({ until: ({ body }: Answer) => body.status?.phase === phase });

async function useAndDisable(api: string): Promise<void> {
  const notes = '/apis/shelf.example.com/v1/notes';
  const note = {
    apiVersion: 'shelf.example.com/v1',
    kind: 'Note',
    metadata: { name: 'mine' },
    spec: { title: 'Mine' },
  };
  await call(api, 'GET', `${plugins}/shelf`, {
    until: ({ status, body }) => status === 200 && body.status?.phase === 'Disabled',
  });
  expect((await call(api, 'GET', notes)).status).toBe(404);
  await call(api, 'PATCH', `${plugins}/shelf`, { body: { spec: { enabled: true } } });
  await call(api, 'GET', `${plugins}/shelf`, inPhase('Started'));
  expect([201, 409]).toContain((await call(api, 'POST', notes, { body: note })).status);
  for (const [name, length] of [
    ['mine', 4],
    ['welcome', 7],
  ] as const)
    await call(api, 'GET', `${notes}/${name}`, { until: ({ body }) => body.status?.length === length });
  await call(api, 'PATCH', `${plugins}/shelf`, { body: { spec: { enabled: false } } });
  await call(api, 'GET', `${plugins}/shelf`, inPhase('Disabled'));
  expect((await call(api, 'GET', notes)).status).toBe(404);
  await call(api, 'PATCH', `${plugins}/shelf`, { body: { spec: { enabled: true } } });
  await call(api, 'GET', `${plugins}/shelf`, inPhase('Started'));
  expect((await call(api, 'GET', `${notes}/mine`)).status).toBe(200);
}

test('svc serve runs a plugin that is copied into its folder, from PATCH to PATCH, and svc controller-manager takes over', async () => {
  const first = await startServer('serve');
  await cp(join(folder, 'shelf'), join(folder, 'data/plugins/shelf'), { recursive: true });
  await useAndDisable(first.url);
  first.program.child.kill('SIGTERM');
  expect(await first.program.exited).toBe(0);

  // Started plugins stay, and the next leader continues with them.
  const { url: api } = await startServer('apiserver');
  expect((await call(api, 'GET', '/apis/shelf.example.com/v1/notes/welcome')).status).toBe(200);
  await cp(join(folder, 'shelf'), join(folder, 'plugins/shelf'), { recursive: true });
  const before = await call(api, 'GET', `${plugins}/shelf`);
  const manager = await startManager(api);
  await manager.line('started a plugin');
  expect((await call(api, 'GET', `${plugins}/shelf`)).body.metadata!.resourceVersion).not.toBe(
    before.body.metadata!.resourceVersion,
  );
  await call(api, 'PATCH', `${plugins}/shelf`, { body: { spec: { enabled: false } } });
  await call(api, 'GET', `${plugins}/shelf`, inPhase('Disabled'));
  await useAndDisable(api);
  const ask = (...args: string[]): Promise<{ code: number | null; text: string }> =>
    outcomeOf(['plugin', ...args, `--server=${api}`, `--token-file=${join(folder, 'token')}`]);
  expect(await ask('disable', 'shelf')).toEqual({ code: 0, text: 'shelf: Disabled\n' });
  expect(await ask('list')).toEqual({
    code: 0,
    text: 'NAME   VERSION  ENABLED  PHASE\nshelf  1.0.0    false    Disabled\n',
  });
  await writeFile(join(folder, 'plugins/shelf/index.ts'), "throw new Error('not today');");
  expect(await ask('enable', 'shelf')).toEqual({
    code: 1,
    text: expect.stringMatching(/^shelf: Failed\n {2}Healthy: ModuleFailed: .*not today/),
  });
  expect(await ask('enable', 'nobody')).toEqual({
    code: 1,
    text: expect.stringMatching(/^svc: http:.* answered: plugins\.plugin\.svc\.run "nobody" not found \(404\)\.\n$/),
  });

  manager.child.kill('SIGTERM');
  expect(await manager.exited).toBe(0);
});
