import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PluginError } from '../plugin-error.ts';
import { readManifest } from './read-manifest.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-manifest-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

let folders = 0;
async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  folders += 1;
  const folder = join(root, `p${folders}`);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(folder, name, '..'), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

function yaml(main?: string): string {
  return JSON.stringify({
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name: 'a' },
    spec: { version: '1.0.0', ...(main === undefined ? {} : { main }) },
  });
}

test('the module is the named one, or the first of the defaults', async () => {
  const named = await folderOf({ 'plugin.yaml': yaml('src/./start.mjs'), 'src/start.mjs': '' });
  expect(await readManifest(named)).toEqual({
    name: 'a',
    spec: { version: '1.0.0', main: 'src/./start.mjs', enabled: false },
    folder: named,
    main: 'src/start.mjs',
  });
  const several = await folderOf({ 'plugin.yaml': yaml(), 'index.js': '', 'index.mjs': '' });
  expect(await readManifest(several)).toMatchObject({ main: 'index.js' });
});

test('a link within the folder is followed', async () => {
  const folder = await folderOf({ '..data/plugin.yaml': yaml(), '..data/index.ts': '' });
  for (const file of ['plugin.yaml', 'index.ts']) await symlink(join('..data', file), join(folder, file));
  expect(await readManifest(folder)).toMatchObject({ name: 'a', main: 'index.ts' });
});

const outside = 'main leads out';
test.each<[string, string | undefined, string]>([
  ['nothing there', undefined, 'there is no module: none of index.ts, index.js, index.mjs is there'],
  ['another one', 'b.ts', 'spec.main names b.ts, which is not there'],
  ['a folder', 'dir.ts', 'spec.main names dir.ts, which is not there'],
  ['something else', 'plugin.yaml', 'spec.main must name a module (.ts, .mts, .js or .mjs), not plugin.yaml'],
  ['an absolute path', '/etc/a.js', "/etc/a.js leads out of the plugin's folder"],
  ['a way up', '../p1/index.js', "../p1/index.js leads out of the plugin's folder"],
  ['a link that leads out', 'out.js', "out.js is a symbolic link that leads out of the plugin's folder"],
  ['U+0000', 'a\0.js', 'spec.main: must not hold the character U+0000'],
])(`main: %s`, async (_case, main, message) => {
  const folder = await folderOf({ 'plugin.yaml': yaml(main), 'dir.ts/x': '' });
  await writeFile(join(root, 'outside.js'), outside);
  await symlink(join(root, 'outside.js'), join(folder, 'out.js'));
  await expect(readManifest(folder)).rejects.toThrow(message);
  await expect(readManifest(folder)).rejects.toBeInstanceOf(PluginError);
});

test('a manifest that is not a readable file is refused', async () => {
  await expect(readManifest(join(root, 'absent'))).rejects.toThrow('is not there');
  await expect(readManifest(await folderOf({ 'index.ts': '' }))).rejects.toThrow('plugin.yaml is not there');
  await expect(readManifest(await folderOf({ 'plugin.yaml/x': '' }))).rejects.toThrow('plugin.yaml is no regular file');
  await expect(readManifest(await folderOf({ 'plugin.yaml': ' '.repeat(70_000) }))).rejects.toThrow(
    'plugin.yaml is larger than 65536 bytes',
  );
  const pipe = await folderOf({ 'index.ts': '' });
  execFileSync('mkfifo', [join(pipe, 'plugin.yaml')]);
  await expect(readManifest(pipe)).rejects.toThrow('plugin.yaml is no regular file');
});
