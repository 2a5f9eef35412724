import { join } from 'node:path';
import type { Client, Stored } from '#pkg/apimachinery/index';
import { pluginType, type Plugin, type PluginPhase } from '#pkg/apis/index';
import { Manager, TaskLeases, type Log } from '#pkg/runtime/index';
import { pluginKey } from './record/plugin-record.ts';
import { PluginHost, type PluginHostOptions } from './plugin-host.ts';
import type { TestFolder } from './test-folder.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export interface TestHostOptions extends Partial<PluginHostOptions> {
  election?: { durationMs: number; deadlineMs: number; retryMs: number };
  /** Reaches the leases. Default: the client of the rest. */
  leasesClient?: Client;
}

/** A host with its own manager, as in a process. */
export class TestPluginHost {
  readonly host: PluginHost;
  readonly manager: Manager;
  readonly leases: TaskLeases;

  constructor(
    client: Client,
    folder: TestFolder,
    { log = silent, election, leasesClient = client, ...options }: TestHostOptions = {},
  ) {
    this.host = new PluginHost({
      client,
      clientOf: () => client,
      dir: folder.dir,
      bundleDir: join(folder.root, 'bundles'),
      log,
      platformVersion: '2.22.0',
      intervalMs: 50,
      ...options,
    });
    this.leases = new TaskLeases({
      client: leasesClient,
      log,
      identity: `test-${Math.random()}`,
      namespace: 'default',
      group: 'plugins',
      durationMs: 60_000,
      deadlineMs: 50_000,
      retryMs: 100,
      settleMs: 0,
      ...election,
    });
    this.leases.add(this.host);
    this.host.onTasks(() => this.leases.look());
    this.manager = new Manager({ client, log, controllers: [this.host.controller] });
    this.leases.start();
    this.manager.start();
  }

  async stop(): Promise<void> {
    await this.leases.stop();
    await this.manager.stop();
  }
}

export function enable(client: Client, name: string, enabled = true): Promise<Stored<Plugin>> {
  return client.patch(pluginType, pluginKey(name), { type: 'merge', patch: { spec: { enabled } } });
}

/** Waits until the Plugin satisfies the predicate. */
export async function waitForPlugin(
  client: Client,
  name: string,
  holds: (plugin: Stored<Plugin>) => boolean,
  signal: AbortSignal = AbortSignal.timeout(40_000),
): Promise<Stored<Plugin>> {
  const { resourceVersion, items } = await client.list(pluginType);
  let last = items.find(({ metadata }) => metadata.name === name);
  if (last !== undefined && holds(last)) return last;
  for await (const event of await client.watch(pluginType, { resourceVersion, signal })) {
    if (event.type === 'BOOKMARK' || event.object.metadata.name !== name) continue;
    last = event.object;
    if (event.type !== 'DELETED' && holds(last)) return last;
  }
  throw new Error(`${name} did not become as wanted: ${JSON.stringify(last?.status)}`);
}

export function inPhase(
  client: Client,
  name: string,
  phase: PluginPhase,
  signal?: AbortSignal,
): Promise<Stored<Plugin>> {
  return waitForPlugin(client, name, ({ status }) => status?.phase === phase, signal);
}

export function startedAs(client: Client, name: string, version: string): Promise<Stored<Plugin>> {
  return waitForPlugin(client, name, ({ status }) => status?.phase === 'Started' && status.version === version);
}

/** Deletes all plugins and their folders, so that the next test starts empty. */
export async function forgetPlugins(client: Client, folder: TestFolder): Promise<void> {
  await folder.empty();
  for (const { metadata } of (await client.list(pluginType)).items) {
    if (metadata.finalizers !== undefined)
      await client.patch(pluginType, pluginKey(metadata.name), {
        type: 'merge',
        patch: { metadata: { finalizers: null } },
      });
    await client.delete(pluginType, pluginKey(metadata.name));
  }
}

/** `True Reason`, or undefined if it has no such condition. */
export function condition({ status }: Stored<Plugin>, type: string): string | undefined {
  const found = status?.conditions?.find((each) => each.type === type);
  return found === undefined ? undefined : `${found.status} ${found.reason}`;
}
