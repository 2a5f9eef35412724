import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorldApi } from './world-api.ts';

const doorsGroup = 'doors.matrix.example';

/** The group in its paths and permissions. */
export function audienceGroup(audience: 'console' | 'uc' | 'public'): string {
  return audience === 'public' ? `api.${doorsGroup}` : `${audience}.api.${doorsGroup}`;
}

const manifest = `
apiVersion: plugin.svc.run/v1alpha1
kind: Plugin
metadata: { name: doors }
spec: { version: 1.0.0, enabled: true }
`;

const source = `
import { definePlugin, defineEndpoint } from '@svc/sdk';
const about = { group: '${doorsGroup}', version: 'v1' };
const handler = async () => ({ open: true });
export default definePlugin({ endpoints: [
  defineEndpoint({ ...about, audience: 'public', method: 'GET', path: '/open', handler }),
  defineEndpoint({ ...about, audience: 'console', method: 'GET', path: '/stats', handler }),
  defineEndpoint({ ...about, audience: 'console', method: 'PUT', path: '/notes/{name}', handler }),
  defineEndpoint({ ...about, audience: 'uc', method: 'POST', path: '/notes/{name}/marks', handler }),
] });
`;

/** Writes a plugin with an endpoint for each audience; `folder` is the value of `svc.plugins.dir`. */
export async function writeAudiencesPlugin(folder: string): Promise<void> {
  await mkdir(join(folder, 'doors'), { recursive: true });
  await writeFile(join(folder, 'doors/plugin.yaml'), manifest);
  await writeFile(join(folder, 'doors/index.js'), source);
}

/** Waits until every replica serves it. */
export async function waitForAudiences(api: WorldApi): Promise<void> {
  for (const server of ['platform', 'basic'] as const)
    await api.until(
      `${server} has the endpoints of the plugin`,
      async () => (await api.platform('GET', `/apis/${audienceGroup('public')}/v1/open`, { server })) !== undefined,
    );
}
