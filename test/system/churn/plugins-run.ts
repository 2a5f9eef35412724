import { chmod, cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Outcome } from '../harness/run/run-main.ts';
import { allowedInServer, ChurnedServer } from './churned-server.ts';
import { measureGrowth } from './measure-growth.ts';

const sample = fileURLToPath(new URL('../../../config/samples/plugins/blog', import.meta.url));
const plugin = 'blog';
/** The plugin's public endpoint, which must appear and disappear with it. */
const endpoint = '/apis/api.blog.example.com/v1/posts';
/** The plugin's page, whose file must appear and disappear, too. */
const page = '/apis/console.svc.run/v1alpha1/consolepages/blog-comments';

/** Starts and stops the sample plugin repeatedly, and measures the server's process after each stop. */
export async function runPlugins({ rounds, parent }: { rounds: number; parent: string }): Promise<Outcome> {
  const folder = await mkdtemp(join(parent, 'svc-churn-'));
  // PostgreSQL may run as another user.
  await chmod(folder, 0o755);
  await mkdir(join(folder, 'plugins'));
  await cp(sample, join(folder, 'plugins', plugin), { recursive: true });
  const server = await ChurnedServer.start(folder);
  try {
    const grown = await measureGrowth({
      rounds,
      round: () => startAndStop(server),
      measure: async () => ({ ...(await server.life()) }),
      allowed: allowedInServer(rounds),
    });
    return grown.length === 0 ? { passed: 1, failures: [] } : { passed: 0, failures: [`churn: ${grown.join(', ')}`] };
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function startAndStop(server: ChurnedServer): Promise<void> {
  await server.turn(plugin, true);
  await server.until(endpoint, (status) => status === 200);
  let file = '';
  await server.until(page, (status, { spec }) => {
    const { frame } = (spec ?? {}) as { frame?: { file: string; hash: string } };
    if (frame !== undefined) file = `/plugin-pages/${plugin}/${frame.hash}/${frame.file}`;
    return status === 200;
  });
  await server.until(file, (status) => status === 200);
  await server.turn(plugin, false);
  for (const path of [endpoint, page, file]) await server.until(path, (status) => status === 404);
}
