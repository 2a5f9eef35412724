import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Client } from '#pkg/apimachinery/index';
import { PluginHost } from '#pkg/plugin/index';
import type { PluginMetrics } from '../metrics/plugin-metrics.ts';
import type { Options } from '../options/option-table.ts';
import { svcVersion } from '../process/svc-version.ts';

/** The environment variables of this program. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface PluginParts {
  /** The controllers' client. */
  client: Client;
  /** Creates a client with the plugin's own user. */
  clientOf: (plugin: string) => Client;
  metrics: PluginMetrics;
  /** The URL of this process for other API servers. */
  url: string;
  environment: Environment;
  log: Logger;
}

/** The host of plugins; its controller must run together with the platform's own, and nothing runs before. */
export function pluginHost(
  options: Options,
  { client, clientOf, metrics, url, environment, log }: PluginParts,
): PluginHost {
  const dataDir = resolve(options['svc.data.dir']);
  // The platform's own variables contain secrets, so plugins do not see them.
  const visible = Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('SVC_')));
  const host = new PluginHost({
    client,
    clientOf,
    dir: pluginsDir(options),
    bundleDir: join(dataDir, 'plugin-bundles'),
    log,
    platformVersion: svcVersion(),
    reload: options['svc.plugins.reload'],
    intervalMs: options['svc.plugins.interval'],
    environment: visible,
    url,
    observer: metrics,
  });
  metrics.register(host);
  return host;
}

/** The folder of plugins. */
export function pluginsDir(options: Options): string {
  return resolve(options['svc.plugins.dir'] ?? join(options['svc.data.dir'], 'plugins'));
}
