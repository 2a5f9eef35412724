import { chmod, mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { RestClient } from '#pkg/client/index';
import { isStatusError, pause, type AnyObject, type ResourceType, type Stored } from '#pkg/apimachinery/index';
import { pluginType, type Plugin } from '#pkg/apis/index';
import { newPersonalToken } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { killPrograms, Program } from '../start-test-program.ts';

const token = newPersonalToken();
const noteType: ResourceType = {
  group: 'library.example.com',
  version: 'v1',
  kind: 'Note',
  plural: 'notes',
  namespaced: false,
  hasStatusSubresource: false,
};
const leaseType: ResourceType = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  hasStatusSubresource: false,
};
/** So many that a kill interrupts them, although the test notices the first one late. */
const count = 240;
/** Shipped, but a user creates them before the plugin does. */
const persons = ['note-20', 'note-55'];

let database: TestDatabase;
let folder: string;
let client: RestClient;

const note = (name: string, text: string): AnyObject => ({
  apiVersion: 'library.example.com/v1',
  kind: 'Note',
  metadata: { name },
  spec: { text },
});

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-plugin-presets-'));
  await chmod(folder, 0o711);
  await writeFile(join(folder, 'token'), token, { mode: 0o600 });
  const plugin = join(folder, 'plugins/library');
  await mkdir(join(plugin, 'presets'), { recursive: true });
  await writeFile(
    join(plugin, 'plugin.yaml'),
    'apiVersion: plugin.svc.run/v1alpha1\nkind: Plugin\nmetadata: { name: library }\nspec: { version: 1.0.0, enabled: true }\n',
  );
  await writeFile(
    join(plugin, 'presets/notes.yaml'),
    Array.from({ length: count }, (_, i) => JSON.stringify(note(`note-${i}`, 'shipped'))).join('\n---\n'),
  );
  const module = `
    import { defineModel, definePlugin, Type } from '@svc/sdk';
    const Note = defineModel({ group: 'library.example.com', version: 'v1', kind: 'Note', plural: 'notes', singular: 'note', spec: Type.Object({ text: Type.String() }) });
    export default definePlugin({ models: [Note] });
  `;
  await writeFile(join(plugin, 'index.ts'), module);
});
afterEach(async () => {
  client?.close();
  await killPrograms();
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function startServer(): Promise<string> {
  const { connectionString, host, port, user } = database.connection;
  const databaseUrl =
    connectionString ?? `postgres://${user}@${encodeURIComponent(String(host))}:${port}/${database.name}`;
  const program = new Program([
    'apiserver',
    '--svc.server.port=0',
    `--svc.data.dir=${join(folder, 'data')}`,
    `--svc.database.url=${databaseUrl}`,
    `--svc.security.initial-admin-token=${token}`,
  ]);
  return String((await program.line('ready'))['url']);
}

/** Kills the process that runs the plugin when it logs this line. */
async function killedAt(manager: Program, line: string): Promise<void> {
  await manager.line(line);
  manager.child.kill('SIGKILL');
  await manager.exited;
  await freeLeases();
}

function startManager(api: string): Program {
  return new Program([
    'controller-manager',
    '--svc.controllers.port=0',
    `--svc.data.dir=${join(folder, 'data')}`,
    `--svc.plugins.dir=${join(folder, 'plugins')}`,
    `--svc.controllers.api-url=${api}`,
    `--svc.controllers.token-file=${join(folder, 'token')}`,
  ]);
}

/** Releases the leases, so that the next process need not wait for their expiry. */
async function freeLeases(): Promise<void> {
  const { items } = await client.list(leaseType, { namespace: 'svc-system' });
  await Promise.all(
    items.map(({ metadata }) => client.delete(leaseType, { namespace: 'svc-system', name: metadata.name })),
  );
}

async function inPhase(phase: string): Promise<Stored<Plugin>> {
  for (;;) {
    const plugin = await client.get(pluginType, { namespace: '', name: 'library' });
    if (plugin.status?.phase === phase && plugin.status.observedGeneration === plugin.metadata.generation)
      return plugin;
    await pause(50);
  }
}

async function notes(): Promise<Stored<AnyObject>[]> {
  return (await client.list(noteType)).items;
}

const setEnabled = (enabled: boolean) =>
  client.patch(pluginType, { namespace: '', name: 'library' }, { type: 'merge', patch: { spec: { enabled } } });

/** As a user; an object that the plugin has created already stays the plugin's. */
async function make(name: string): Promise<boolean> {
  try {
    await client.create(noteType, note(name, 'mine'));
    return true;
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error;
    return false;
  }
}

test('after kill -9 during the presets, at the start and at the stop, nothing is forgotten, and no object of a user is lost', async () => {
  const api = await startServer();
  client = RestClient.connect({ url: api, token });
  await killedAt(startManager(api), 'created a preset');
  expect((await notes()).length).toBeLessThan(count);
  const adopted: string[] = [];
  for (const name of persons) if (await make(name)) adopted.push(name);

  let manager = startManager(api);
  const { status } = await inPhase('Started');
  const found = await notes();
  expect(found.map(({ metadata, spec }) => [metadata.labels, spec])).toEqual(
    Array.from({ length: count }, () => [{ 'svc.run/plugin': 'library' }, { text: 'shipped' }]),
  );
  expect([
    status?.presets?.length,
    status?.presets?.filter((record) => record.adopted === true).map((record) => record.name),
  ]).toEqual([count, adopted]);

  await setEnabled(false);
  await killedAt(manager, 'deleted a preset');
  expect((await notes()).length).toBeGreaterThan(adopted.length);
  manager = startManager(api);
  expect((await inPhase('Disabled')).status?.presets ?? []).toEqual([]);
  await expect(notes()).rejects.toMatchObject({ code: 404 });

  // After the stop only the user's objects are left.
  await setEnabled(true);
  await inPhase('Started');
  const known = new Set(found.map(({ metadata }) => metadata.uid));
  expect(
    (await notes()).filter(({ metadata }) => known.has(metadata.uid)).map(({ metadata }) => metadata.name),
  ).toEqual(adopted);
  manager.child.kill('SIGTERM');
  expect(await manager.exited).toBe(0);
});
