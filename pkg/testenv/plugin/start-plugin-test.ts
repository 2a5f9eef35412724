import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newServiceUnavailable, type Client, type Stored } from '#pkg/apimachinery/index';
import { consolePageType, pluginType, type Plugin } from '#pkg/apis/index';
import { getOnly, send, type EndpointGroup } from '#pkg/http/index';
import { loadPluginEndpoints, PluginHost, readPluginFiles } from '#pkg/plugin/index';
import { Manager, TaskLeases, type Log } from '#pkg/runtime/index';
import { pollUntil } from '../faults/poll-until.ts';
import { startTestEnv, type TestEnv, type TestEnvOptions } from '../start-test-env.ts';

export interface PluginTestOptions {
  /** The plugin's folder. It is only read. */
  folder: string;
  /** The version that `requires` in plugin.yaml is compared with. Default: one that suits. */
  platformVersion?: string;
  /** The PostgreSQL server for the database. Default: that of the test run. */
  postgres?: TestEnvOptions['postgres'];
}

/** An object on which an action of the plugin is tried. */
export interface ChosenObject {
  apiVersion: string;
  kind: string;
  /** Absent for a model without namespaces. */
  namespace?: string;
  name: string;
}

/** A server on which the plugin is started, and nothing else. */
export interface PluginTest {
  env: TestEnv;
  /** As the administrator. */
  client: Client;
  /**
   * Where a browser shows the `ConsolePage` of this name as the console does: in a frame without an origin, whose
   * requests may do what the rules of the page allow. `confirm` asks before a deletion. An action gets
   * `objects`.
   * @throws StatusError without such a page
   */
  urlOf(page: string, options?: { objects?: readonly ChosenObject[] }): Promise<string>;
  stop(): Promise<void>;
}

const windowPrefix = '/plugin-test';
const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/**
 * Starts a server and the plugin of the folder: models, presets, controllers, endpoints and pages, as `svc serve` does.
 * The plugin's own client may do everything.
 * @throws Error with the conditions of the Plugin if it does not start
 */
export async function startPluginTest({
  folder,
  platformVersion = '999.0.0',
  postgres,
}: PluginTestOptions): Promise<PluginTest> {
  const root = await mkdtemp(join(tmpdir(), 'svc-plugin-test-'));
  const dir = join(root, 'plugins');
  await copyPlugin(resolve(folder), join(dir, 'plugin'));
  const [{ PluginEndpoints }, window] = await Promise.all([loadPluginEndpoints(), windowGroup()]);
  let host: PluginHost | undefined;
  const env = await startTestEnv({
    ...(postgres === undefined ? {} : { postgres }),
    endpoints: ({ client, registry }) => {
      const endpoints = new PluginEndpoints({
        client,
        log: silent,
        models: registry,
        local: (plugin) => (host?.runs(plugin) === true ? host : undefined),
        forward: { forward: () => Promise.reject(newServiceUnavailable('the plugin does not run')) },
      });
      endpoints.start();
      const groups = {
        *[Symbol.iterator]() {
          yield window;
          yield* endpoints.groups;
        },
      };
      return { groups, documents: endpoints, stop: () => endpoints.stop() };
    },
  });
  const { client } = env.servers[0]!;
  host = new PluginHost({
    client,
    clientOf: () => client,
    dir,
    bundleDir: join(root, 'bundles'),
    log: silent,
    platformVersion,
    intervalMs: 100,
  });
  const { controller } = host;
  const leases = new TaskLeases({
    client,
    log: silent,
    identity: 'plugin-test',
    namespace: 'default',
    group: 'plugins',
    settleMs: 0,
  });
  leases.add(host);
  host.onTasks(() => leases.look());
  const manager = new Manager({ client, log: silent, controllers: [controller] });
  leases.start();
  manager.start();
  const stop = async (): Promise<void> => {
    await leases.stop();
    await manager.stop();
    await env.stop();
    await rm(root, { recursive: true, force: true });
  };
  try {
    await startOnlyPlugin(client);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    env,
    client,
    urlOf: async (name, { objects } = {}) => {
      const { metadata, spec } = await client.get(consolePageType, { namespace: '', name });
      if (spec.frame === undefined) throw new Error(`the page ${name} has no frame: the console itself shows it`);
      const plugin = metadata.labels?.['svc.run/plugin'] ?? '';
      const file = `/plugin-pages/${plugin}/${spec.frame.hash ?? ''}/${spec.frame.file}`;
      const facts = { page: name, file, token: env.token, objects };
      return `${env.url}${windowPrefix}/window.html#${encodeURIComponent(JSON.stringify(facts))}`;
    },
    stop,
  };
}

/** The host looks at all folders next to it. Its packages are not copied. */
async function copyPlugin(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, filter: (path) => basename(path) !== 'node_modules' });
  await symlink(join(from, 'node_modules'), join(to, 'node_modules'));
}

async function startOnlyPlugin(client: Client): Promise<void> {
  let plugin: Stored<Plugin> | undefined;
  const phase = async (): Promise<string | undefined> => {
    [plugin] = (await client.list(pluginType)).items;
    return plugin?.status?.phase;
  };
  await pollUntil(async () => (await phase()) !== undefined);
  await client.patch(
    pluginType,
    { namespace: '', name: plugin!.metadata.name },
    { type: 'merge', patch: { spec: { enabled: true } } },
  );
  await pollUntil(async () => ['Started', 'Failed'].includes((await phase()) ?? ''));
  if (plugin?.status?.phase === 'Started') return;
  const reasons = (plugin?.status?.conditions ?? []).filter(({ status }) => status === 'False');
  throw new Error(
    `the plugin did not start: ${reasons.map(({ type, reason, message }) => `${type} ${reason}: ${message}`).join('; ')}`,
  );
}

/** The page around the frame. */
async function windowGroup(): Promise<EndpointGroup> {
  const files = await readPluginFiles(fileURLToPath(new URL('window', import.meta.url)));
  const types = new Map([
    ['window.html', 'text/html; charset=utf-8'],
    ['window.js', 'text/javascript; charset=utf-8'],
  ]);
  return {
    prefix: windowPrefix,
    isOpen: true,
    owns: (path) => types.has(path.slice(windowPrefix.length + 1)),
    router: getOnly(async (context) => {
      const name = context.info.path.slice(windowPrefix.length + 1);
      const { body } = (await files.find(name, { gzipped: false }))!;
      await send(context, 200, types.get(name)!, body, {
        'Content-Security-Policy':
          "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; frame-src 'self'",
      });
    }),
  };
}
