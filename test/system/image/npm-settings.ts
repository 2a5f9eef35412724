import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { output } from './buildah.ts';

/**
 * Arguments for `buildah build` that give npm this machine's registry settings, without credentials. Empty for default
 * settings. `folder` is for the mounted files.
 */
export async function npmMounts(folder: string): Promise<string[]> {
  const settings: string[] = [];
  const registry = await npmSetting('registry');
  if (registry !== undefined && registry !== 'https://registry.npmjs.org/') settings.push(`registry=${registry}`);
  const authority = (await npmSetting('cafile')) ?? process.env['NODE_EXTRA_CA_CERTS'];
  const mounts: string[] = [];
  if (authority !== undefined && authority !== '') {
    await copyFile(authority, join(folder, 'npm-ca.pem'));
    mounts.push('--volume', `${join(folder, 'npm-ca.pem')}:/usr/local/etc/npm-ca.pem:ro`);
    settings.push('cafile=/usr/local/etc/npm-ca.pem');
  }
  if (settings.length === 0) return [];
  await writeFile(join(folder, 'npmrc'), `${settings.join('\n')}\n`);
  return [...mounts, '--volume', `${join(folder, 'npmrc')}:/usr/local/etc/npmrc:ro`];
}

async function npmSetting(name: string): Promise<string | undefined> {
  const value = await output('npm', ['config', 'get', name]);
  return value === 'null' || value === 'undefined' || value === '' ? undefined : value;
}
