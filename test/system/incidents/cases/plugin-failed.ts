import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '../../harness/process/server-process.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import type { Incident } from '../incident.ts';
import type { IncidentSite } from '../site/incident-site.ts';

const path = '/apis/plugin.svc.run/v1alpha1/plugins/trial';
const whole = "import { definePlugin } from '@svc/sdk';\nexport default definePlugin({});\n";

interface PluginStatus {
  phase?: string;
  conditions?: { type: string; reason: string; message: string }[];
}

async function statusOf(site: IncidentSite): Promise<PluginStatus> {
  return (JSON.parse(await site.demand(path)) as { status?: PluginStatus }).status ?? {};
}

function untilPhase(site: IncidentSite, phase: string): Promise<void> {
  return retryUntilTrue(async () => (await statusOf(site)).phase === phase, {
    what: `the plugin is ${phase}`,
    timeoutMs: 60_000,
  });
}

function writeModule(site: IncidentSite, module: string): Promise<void> {
  return writeFile(join(site.dataDir, 'plugins', 'trial', 'index.ts'), module);
}

/** A plugin that is enabled, with this module. */
async function enable(site: IncidentSite, module: string): Promise<void> {
  await mkdir(join(site.dataDir, 'plugins', 'trial'), { recursive: true });
  await writeModule(site, module);
  await writeFile(
    join(site.dataDir, 'plugins', 'trial', 'plugin.yaml'),
    'apiVersion: plugin.svc.run/v1alpha1\nkind: Plugin\nmetadata: { name: trial }\nspec: { displayName: Trial, version: 1.0.0, requires: ">=2.22.0" }\n',
  );
  await untilPhase(site, 'Disabled');
  await site.demand(path, {
    method: 'PATCH',
    body: '{"spec":{"enabled":true}}',
    headers: { 'content-type': 'application/merge-patch+json' },
  });
}

/** An operator's command of the page. */
function svcPlugin(site: IncidentSite, ...args: string[]): Promise<string> {
  return runProgram({
    command: 'plugin',
    args: [...args, `--server=${site.server.url}`, `--token-file=${join(site.dataDir, 'admin-token')}`],
    folder: site.folder,
  });
}

export const pluginFailed: readonly Incident[] = [
  {
    alert: 'SvcPluginFailed',
    cause: 'failed',
    intent: 'The module of a plugin throws; it is corrected.',
    provoke: async (site) => {
      await enable(site, "throw new Error('not today');\n");
      await untilPhase(site, 'Failed');
      return async () => {
        await writeModule(site, whole);
        await untilPhase(site, 'Started');
      };
    },
    look: async (site) => {
      await site.untilMetric('svc_plugins{phase="Failed"}');
      const { conditions = [] } = await statusOf(site);
      const { message } = conditions.find(({ type }) => type === 'Healthy') ?? { message: '' };
      if (!message.includes('not today')) throw new Error(`the condition Healthy says "${message}"`);
      const listed = await svcPlugin(site, 'list');
      if (!/trial.*Failed/.test(listed)) throw new Error(`svc plugin list shows ${listed}`);
    },
  },
  {
    alert: 'SvcPluginFailed',
    cause: 'restarts',
    speed: 12,
    intent: 'The worker of a plugin ends by itself again and again; the plugin is disabled.',
    brings: ['SvcPluginFailed:failed'],
    provoke: async (site) => {
      await enable(site, `setTimeout(() => process.exit(1), 200);\n${whole}`);
      return async () => {
        await svcPlugin(site, 'disable', 'trial');
        await untilPhase(site, 'Disabled');
      };
    },
    look: (site) => site.untilMetric('svc_plugin_restarts_total{plugin="trial"}', 3),
  },
];
