import { isStatusError, pause, type Client, type Stored } from '#pkg/apimachinery/index';
import { pluginType, type Plugin } from '#pkg/apis/index';
import { findServer, type ServerSources } from './find-server.ts';
import { OperatorError } from '../options/operator-error.ts';

/** Timeout for starting or stopping a plugin: a stop alone may take 30 s. Milliseconds. */
const timeoutMs = 60_000;
const pollMs = 200;

/** Prints the plugins of a running server. Throws OperatorError. */
export function listPlugins(options: ServerSources): Promise<number> {
  return withServer(options, async (client) => {
    const { items } = await client.list(pluginType);
    const rows = items.map(({ metadata, spec, status }) => [
      metadata.name,
      spec.version,
      spec.enabled === true ? 'true' : 'false',
      status?.phase ?? '-',
    ]);
    const table = [['NAME', 'VERSION', 'ENABLED', 'PHASE'], ...rows];
    const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
    for (const row of table)
      process.stdout.write(
        `${row
          .map((cell, column) => cell.padEnd(widths[column]!))
          .join('  ')
          .trimEnd()}\n`,
      );
    return 0;
  });
}

/** Starts or stops a plugin of a running server, and waits for the result: 0 on success. Throws OperatorError. */
export function enablePlugin(options: ServerSources, name: string, enabled: boolean): Promise<number> {
  return withServer(options, async (client) => {
    const key = { namespace: '', name };
    let plugin = await client.patch(pluginType, key, { type: 'merge', patch: { spec: { enabled } } });
    const until = performance.now() + timeoutMs;
    while (!isSettled(plugin, enabled) && performance.now() < until) {
      await pause(pollMs);
      plugin = await client.get(pluginType, key);
    }
    const phase = plugin.status?.phase ?? 'not looked at: no controllers run';
    process.stdout.write(`${name}: ${phase}\n`);
    for (const { type, status, reason, message } of plugin.status?.conditions ?? []) {
      if (status === 'False') process.stdout.write(`  ${type}: ${reason}${message === '' ? '' : `: ${message}`}\n`);
    }
    return phase === (enabled ? 'Started' : 'Disabled') ? 0 : 1;
  });
}

/** Whether the plugin has processed this change, successfully or not. */
function isSettled({ metadata, status }: Stored<Plugin>, enabled: boolean): boolean {
  if (status?.observedGeneration !== metadata.generation) return false;
  return enabled ? status?.phase === 'Started' || status?.phase === 'Failed' : status?.phase === 'Disabled';
}

/** Runs `work` with the server that is found, and reports errors as one sentence. */
export async function withServer(sources: ServerSources, work: (client: Client) => Promise<number>): Promise<number> {
  const { url, client } = await findServer(sources);
  try {
    return await work(client);
  } catch (error) {
    if (isStatusError(error))
      throw new OperatorError(`${url} answered: ${error.message} (${error.code}).`, { cause: error });
    throw error;
  } finally {
    client.close();
  }
}
