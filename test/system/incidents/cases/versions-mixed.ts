import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repository } from '../../harness/process/server-process.ts';
import type { Incident } from '../incident.ts';
import type { IncidentSite } from '../site/incident-site.ts';

const newer = '2.22.0+789abcd';

/** This build under another name; returns its folder. */
async function copyBuild({ folder }: IncidentSite): Promise<string> {
  const copy = join(folder, 'newer-build');
  await mkdir(copy);
  for (const name of ['dist', 'package.json']) await cp(join(repository, name), join(copy, name), { recursive: true });
  await symlink(join(repository, 'node_modules'), join(copy, 'node_modules'));
  await writeFile(join(copy, 'dist', 'build.json'), JSON.stringify({ version: newer, commit: '789abcd' }));
  return copy;
}

export const versionsMixed: readonly Incident[] = [
  {
    alert: 'SvcVersionsMixed',
    speed: 60,
    intent: 'An upgrade forgets one of two processes; it is upgraded, too.',
    brings: ['SvcDown:gone', 'SvcDown:none', 'SvcControllersNotLed'],
    open: async (site) => {
      await (await site.add('serve')).start();
      await (await site.add('apiserver', { name: 'second' })).start();
    },
    provoke: async (site) => {
      const [server, second] = site.members;
      const build = await copyBuild(site);
      await second!.stop();
      await second!.start({ build });
      return async () => {
        await server!.stop();
        await server!.start({ build });
      };
    },
    look: async (site) => {
      const versions = await Promise.all(site.members.map(({ url }) => site.demand('/version', {}, url)));
      if (versions[0]!.includes(newer) || !versions[1]!.includes(newer))
        throw new Error(`/version does not tell the builds: ${versions.join(' ')}`);
    },
  },
];
