import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { pause, type AnyObject, type Client, type ResourceType } from '#pkg/apimachinery/index';
import { clusterRoleType, pluginsGroup, pluginType, pluginUser } from '#pkg/apis/index';
import { ApiServer, LoopbackClient, RbacAuthorizer } from '#pkg/apiserver/index';
import { RestClient, type ImpersonatedUser } from '#pkg/client/index';
import { builtinControllers } from '#pkg/controllers/index';
import { BearerAuthenticator } from '#pkg/http/index';
import { newPersonalToken, systemAuthenticated, systemControllers, type UserInfo } from '#pkg/identity/index';
import { PluginHost } from '#pkg/plugin/index';
import { Manager, TaskLeases } from '#pkg/runtime/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { PluginClients } from './plugin-clients.ts';

const users: ReadonlyMap<string, UserInfo> = new Map(
  [
    { name: 'manager', uid: '1', groups: [systemControllers, systemAuthenticated] },
    { name: 'ann', uid: '2', groups: [systemAuthenticated] },
  ].map((user) => [newPersonalToken(), user]),
);
const tokenOf = (name: string): string => Array.from(users).find(([, user]) => user.name === name)![0];
type Note = AnyObject & { status?: { seen?: string } };
const noteType = (plugin: string): ResourceType<Note> => ({
  group: `${plugin}.example.com`,
  version: 'v1',
  kind: 'Note',
  plural: 'notes',
  namespaced: false,
  hasStatusSubresource: true,
});
const namespaces: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  hasStatusSubresource: true,
};

/** Enough for everything that it does, except listing namespaces. */
const permissionsOf = (plugin: string): object[] => [
  { apiGroups: [`${plugin}.example.com`], resources: ['notes'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [`${plugin}.example.com`], resources: ['notes/status'], verbs: ['patch'] },
];
const moduleOf = (plugin: string): string => `
  import { controllerFor, defineModel, definePlugin, Type } from '@svc/sdk';
  const Note = defineModel({ group: '${plugin}.example.com', version: 'v1', kind: 'Note', plural: 'notes', singular: 'note', spec: Type.Object({}), status: Type.Object({ seen: Type.String() }) });
  const Namespace = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false, hasStatusSubresource: true };
  const seeing = controllerFor(Note).reconcile(async (key, { client, lister, events }) => {
    const note = lister(Note).get(key);
    if (note === undefined || note.status !== undefined) return;
    await client.patchStatus(Note, key, { type: 'merge', patch: { status: { seen: 'yes' } } });
    events.record(note, { type: 'Normal', reason: 'Seen', message: 'it was seen' });
    await client.list(Namespace);
  });
  export default definePlugin({ models: [Note], controllers: [seeing] });
`;

let env: TestEnv;
let server: ApiServer;
let url: string;
let authorizer: RbacAuthorizer;
let folder: string;
const stops: (() => void | Promise<void>)[] = [];
const lines: { msg: string; plugin?: string; err?: { message: string } }[] = [];
const log = pino(
  { level: 'info' },
  { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) },
);

beforeAll(async () => {
  env = await startTestEnv();
  folder = await mkdtemp(join(tmpdir(), 'svc-plugin-identity-'));
  const { registry, store } = env.servers[0]!;
  authorizer = new RbacAuthorizer(registry.roles);
  server = new ApiServer({
    svcVersion: '0.0.0-test',
    log: pino({ level: 'silent' }),
    metrics: new Registry(),
    http: { host: '127.0.0.1', port: 0 },
  });
  const authenticator = new BearerAuthenticator({ authenticateToken: async (token) => users.get(token) });
  server.serve({ registry, store, authenticator, authorizer });
  url = `http://127.0.0.1:${(await server.listen()).port}`;
});
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});
afterAll(async () => {
  await server.stop();
  await env.stop();
  await rm(folder, { recursive: true, force: true });
});

function rest(name: string, impersonate?: ImpersonatedUser): RestClient {
  const client = RestClient.connect({
    url,
    token: tokenOf(name),
    ...(impersonate === undefined ? {} : { impersonate }),
  });
  stops.push(() => client.close());
  return client;
}

/** Runs the platform's controllers and the plugins, as a process does. */
function run(client: Client, open: ConstructorParameters<typeof PluginClients>[0]): void {
  const clients = new PluginClients(open);
  stops.push(() => clients.close());
  const host = new PluginHost({
    client,
    clientOf: clients.of,
    dir: join(folder, 'plugins'),
    bundleDir: join(folder, 'bundles'),
    log,
    platformVersion: '2.22.0',
    intervalMs: 50,
  });
  const leases = new TaskLeases({
    client,
    log,
    identity: `test-${Math.random()}`,
    namespace: 'default',
    group: 'controllers',
    durationMs: 60_000,
    deadlineMs: 50_000,
    retryMs: 100,
  });
  leases.add(host);
  host.onTasks(() => leases.look());
  const manager = new Manager({ client, log, controllers: builtinControllers({ client, log }), leases });
  const plugins = new Manager({ client, log, controllers: [host.controller] });
  stops.push(async () => {
    await leases.stop();
    await Promise.all([manager.stop(), plugins.stop()]);
  });
  plugins.start();
  leases.start();
  manager.start();
}

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await pause(20);
}

describe('a plugin has the permissions of its manifest, and no others', () => {
  const transports: { name: string; where: string; start: () => void }[] = [
    {
      name: 'near',
      where: 'in the process of the server',
      start: () => {
        const { client, registry } = env.servers[0]!;
        run(
          client,
          (plugin) =>
            new LoopbackClient({
              registry,
              authorizer,
              user: { name: pluginUser(plugin), uid: '', groups: [pluginsGroup, systemAuthenticated] },
            }),
        );
      },
    },
    {
      name: 'far',
      where: 'in a controller-manager, whose user is no administrator',
      start: () =>
        run(rest('manager'), (plugin) => rest('manager', { user: pluginUser(plugin), groups: [pluginsGroup] })),
    },
  ];

  test.each(transports)('$where', async ({ name, start }) => {
    const { client } = env.servers[0]!;
    const readers = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: `${name}:readers`, labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
      rules: [{ apiGroups: [`uc.api.${name}.example.com`], resources: ['notes'], verbs: ['get'] }],
    };
    const home = join(folder, 'plugins', name);
    await mkdir(join(home, 'presets'), { recursive: true });
    await writeFile(join(home, 'presets/roles.yaml'), JSON.stringify(readers));
    await writeFile(join(home, 'index.ts'), moduleOf(name));
    await writeFile(
      join(home, 'plugin.yaml'),
      JSON.stringify({
        apiVersion: 'plugin.svc.run/v1alpha1',
        kind: 'Plugin',
        metadata: { name },
        spec: { version: '1.0.0', enabled: true, permissions: permissionsOf(name) },
      }),
    );
    start();
    await until(async () =>
      (await client.list(pluginType)).items.some(
        ({ metadata, status }) => metadata.name === name && status?.phase === 'Started',
      ),
    );
    const ofReaders = JSON.stringify(readers.rules[0]!.apiGroups);
    await until(async () =>
      JSON.stringify((await client.get(clusterRoleType, { namespace: '', name: 'view' })).rules).includes(ofReaders),
    );
    const note = { namespace: '', name: 'first' };
    await client.create(noteType(name), {
      apiVersion: `${name}.example.com/v1`,
      kind: 'Note',
      metadata: { name: 'first' },
      spec: {},
    });
    await until(async () => (await client.get(noteType(name), note)).status?.seen === 'yes');
    const events = `/api/v1/namespaces/default/events?fieldSelector=${encodeURIComponent(`reason=Seen,involvedObject.name=first`)}`;
    await until(async () =>
      (await env.request(events).then((answer) => answer.text())).includes(`${name}.example.com`),
    );
    // It may have started its watches before its role existed, and again afterwards.
    const refused = (): string[] =>
      lines.flatMap(({ msg, plugin, err }) =>
        plugin === name && err !== undefined && msg.startsWith('the reconcile failed') ? [err.message] : [],
      );
    await until(() => refused().length > 0);
    expect(new Set(refused())).toEqual(
      new Set([
        `namespaces is forbidden: User "system:plugin:${name}" cannot list resource "namespaces" in API group "" at the cluster scope`,
      ]),
    );
  });
});

describe('impersonation', () => {
  const list = (name: string, impersonate: ImpersonatedUser): Promise<unknown> =>
    rest(name, impersonate).list(namespaces);
  const cannot = (resource: string, name: string) => ({
    code: 403,
    message: `${resource} "${name}" is forbidden: User "manager" cannot impersonate resource "${resource}" in API group "" at the cluster scope`,
  });

  test('is allowed to a controller-manager for existing plugins, and for nobody else', async () => {
    const { client } = env.servers[0]!;
    run(client, () => rest('manager'));
    await client.create(pluginType, {
      apiVersion: 'plugin.svc.run/v1alpha1',
      kind: 'Plugin',
      metadata: { name: 'there' },
      spec: { version: '1.0.0', permissions: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['list'] }] },
    });
    const there = rest('manager', { user: pluginUser('there'), groups: [pluginsGroup] });
    await until(() =>
      there.list(namespaces).then(
        () => true,
        () => false,
      ),
    );
    await expect(list('manager', { user: pluginUser('absent') })).rejects.toMatchObject(
      cannot('users', 'system:plugin:absent'),
    );
    await expect(list('manager', { user: 'ann' })).rejects.toMatchObject(cannot('users', 'ann'));
    await expect(list('manager', { user: pluginUser('there'), groups: ['system:masters'] })).rejects.toMatchObject(
      cannot('groups', 'system:masters'),
    );
    await expect(list('ann', { user: pluginUser('there') })).rejects.toMatchObject({ code: 403 });
    // A client that impersonates the plugin has no more permissions than it.
    await expect(there.list(pluginType)).rejects.toMatchObject({
      code: 403,
      message: expect.stringContaining('User "system:plugin:there" cannot list'),
    });
    await client.delete(pluginType, { namespace: '', name: 'there' });
    await until(() =>
      there.list(namespaces).then(
        () => false,
        (error: { code: number }) => error.code === 403,
      ),
    );
  });
});
