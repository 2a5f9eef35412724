import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pause } from '#pkg/apimachinery/index';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program, startServe, type Served } from '../start-test-program.ts';

const plugins = '/apis/plugin.svc.run/v1alpha1/plugins';
const files = '/apis/files.example.com/v1/files';
const definition = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/files.files.example.com';
const finalizer = 'files.example.com/bucket';
let home: TestDatabase;
let folder: string;
let served: Served;

beforeAll(async () => {
  home = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-remove-'));
  served = await startServe(folder, [`--svc.database.url=${databaseUrlOf(home)}`]);
});
afterAll(async () => {
  await killPrograms();
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

/** A plugin whose controller holds each of its objects with a finalizer until it has cleaned up. */
async function installPlugin(): Promise<void> {
  await mkdir(join(folder, 'plugins/attachments'), { recursive: true });
  const permissions = [
    { apiGroups: ['files.example.com'], resources: ['files'], verbs: ['get', 'list', 'watch', 'patch'] },
  ];
  const manifest = {
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name: 'attachments' },
    spec: { version: '1.0.0', permissions },
  };
  await writeFile(join(folder, 'plugins/attachments/plugin.yaml'), JSON.stringify(manifest));
  const module = `
    import { addFinalizer, controllerFor, defineModel, definePlugin, removeFinalizer, Type } from '@svc/sdk';
    const names = { kind: 'File', plural: 'files', singular: 'file' };
    const File = defineModel({ group: 'files.example.com', version: 'v1', ...names, spec: Type.Object({ key: Type.String() }) });
    const cleaning = controllerFor(File).reconcile(async (key, { client, lister }) => {
      const file = lister(File).get(key);
      if (file === undefined) return;
      if (file.metadata.deletionTimestamp === undefined) await addFinalizer(client, File, file, '${finalizer}');
      else await removeFinalizer(client, File, file, '${finalizer}');
    });
    export default definePlugin({ models: [File], controllers: [cleaning] });
  `;
  await writeFile(join(folder, 'plugins/attachments/index.ts'), module);
}

interface Answer {
  status: number;
  body: {
    status?: { phase?: string; conditions?: { type: string; reason: string; message: string }[] };
    metadata?: { finalizers?: string[]; deletionTimestamp?: string };
  };
}

async function call(method: string, path: string, body?: object): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${served.token}`,
    'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  };
  const response = await fetch(`${served.url}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

async function until(path: string, isMet: (answer: Answer) => boolean): Promise<void> {
  while (!isMet(await call('GET', path))) await pause(50);
}

/** The server listens on free ports: only its data folder names them. */
async function svc(...args: string[]): Promise<{ code: number | null; text: string }> {
  const program = new Program([...args, `--svc.data.dir=${folder}`, '--svc.server.port=0']);
  return { code: await program.exited, text: program.stdout + program.stderr };
}

async function makeObject(name: string, finalizers: string[] = []): Promise<void> {
  expect(
    (
      await call('POST', files, {
        apiVersion: 'files.example.com/v1',
        kind: 'File',
        metadata: { name, finalizers },
        spec: { key: name },
      })
    ).status,
  ).toBe(201);
  await until(`${files}/${name}`, ({ body }) => body.metadata?.finalizers?.includes(finalizer) === true);
}

async function startWithObjects(...names: string[]): Promise<void> {
  await installPlugin();
  await until(`${plugins}/attachments`, ({ body }) => body.status?.phase === 'Disabled');
  expect(await svc('plugin', 'enable', 'attachments')).toEqual({ code: 0, text: 'attachments: Started\n' });
  for (const name of names) await makeObject(name);
}

/** Removes an object's finalizers by PATCH. */
async function release(name: string): Promise<void> {
  expect((await call('PATCH', `${files}/${name}`, { metadata: { finalizers: null } })).status).toBe(200);
}

test('one command removes a plugin, with its folder and its objects, whose finalizers its controllers remove', async () => {
  await startWithObjects('a', 'b');
  const refused = await svc('plugin', 'remove', 'attachments', '--delete-data');
  expect(refused).toEqual({
    code: 1,
    text: expect.stringMatching(/^svc: The folder of the plugin attachments still exists: [^\n]*\n$/),
  });
  const nowhere = join(folder, 'nowhere');
  const absent = await svc(
    'plugin',
    'remove',
    'attachments',
    '--delete-data',
    '--delete-folder',
    `--svc.plugins.dir=${nowhere}`,
  );
  expect(absent).toEqual({
    code: 1,
    text: `svc: The server has a folder of the plugin attachments, and there is none in ${nowhere}: delete it on each machine that runs controllers, and run this again.\n`,
  });
  for (const name of ['a', 'b'])
    expect((await call('GET', `${files}/${name}`)).body.metadata?.deletionTimestamp).toBeUndefined();

  const { code, text } = await svc('plugin', 'remove', 'attachments', '--delete-data', '--delete-folder');
  const pluginFolder = join(folder, 'plugins/attachments');
  const lines = [
    'files.files.example.com: 2 objects deleted',
    `${pluginFolder}: deleted`,
    'attachments: removed',
    'files.files.example.com: deleted, with all objects',
    '',
  ];
  expect([code, text.split('\n')]).toEqual([0, lines]);
  expect([(await call('GET', `${plugins}/attachments`)).status, (await call('GET', definition)).status]).toEqual([
    404, 404,
  ]);
  expect(existsSync(pluginFolder)).toBe(false);
  expect(await svc('plugin', 'remove', 'attachments')).toEqual({
    code: 1,
    text: 'svc: There is no plugin attachments.\n',
  });
});

test('data is kept unless its deletion is requested; objects with finalizers of a removed plugin are listed, and can be read and released', async () => {
  await startWithObjects('c', 'd');
  const removed = await svc('plugin', 'remove', 'attachments', '--delete-folder');
  expect(removed).toEqual({
    code: 0,
    text: expect.stringMatching(/\nfiles\.files\.example\.com: kept, with all objects; --delete-data deletes them\n$/),
  });
  expect((await call('GET', files)).status).toBe(404);

  expect((await call('DELETE', definition)).status).toBe(200);
  const left = `2 objects left; finalizers: ${finalizer} in 2 objects`;
  await until(
    definition,
    ({ body }) =>
      body.status?.conditions?.some(({ type, message }) => type === 'Terminating' && message === left) === true,
  );
  for (const name of ['c', 'd']) {
    expect((await call('GET', `${files}/${name}`)).body.metadata?.finalizers).toEqual([finalizer]);
    await release(name);
  }
  await until(definition, ({ status }) => status === 404);
});

test('objects with finalizers of others are waited for while the plugin runs, and those created meanwhile are deleted too', async () => {
  await startWithObjects();
  await makeObject('held', ['other.example.com/held']);
  const removal = svc('plugin', 'remove', 'attachments', '--delete-data', '--delete-folder');
  await until(`${files}/held`, ({ body }) => body.metadata?.finalizers?.join() === 'other.example.com/held');
  await makeObject('late');
  expect((await call('GET', `${plugins}/attachments`)).body.status?.phase).toBe('Started');
  await release('held');
  expect(await removal).toEqual({
    code: 0,
    text: expect.stringMatching(/^files\.files\.example\.com: 2 objects deleted\n/),
  });
  expect((await call('GET', definition)).status).toBe(404);
});

test('the objects with finalizers of a failed plugin can be released, and everything else is deleted', async () => {
  await startWithObjects('e');
  await writeFile(join(folder, 'plugins/attachments/index.ts'), "throw new Error('not today');");
  expect((await svc('plugin', 'disable', 'attachments')).code).toBe(0);
  expect(await svc('plugin', 'enable', 'attachments')).toEqual({
    code: 1,
    text: expect.stringMatching(/^attachments: Failed\n/),
  });
  const removal = svc('plugin', 'remove', 'attachments', '--delete-data', '--delete-folder');
  await until(definition, ({ body }) => body.metadata?.deletionTimestamp !== undefined);
  await until(`${files}/e`, ({ body }) => body.metadata?.deletionTimestamp !== undefined);
  await release('e');
  const lines = [
    `${join(folder, 'plugins/attachments')}: deleted`,
    'attachments: removed',
    'files.files.example.com: deleted, with all objects',
    '',
  ];
  expect(await removal).toEqual({ code: 0, text: lines.join('\n') });
  expect((await call('GET', `${plugins}/attachments`)).status).toBe(404);
});
