import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Log } from '#pkg/runtime/index';
import { PluginFolder } from './plugin-folder.ts';
import { manifest, TestFolder } from '../test-folder.ts';

let folder: TestFolder;
let openedFolder: PluginFolder | undefined;
let warnings: object[];
beforeEach(async () => {
  folder = await TestFolder.make();
  warnings = [];
});
afterEach(async () => {
  await openedFolder?.stop();
  await folder.clear();
});

const log: Log = { debug: () => {}, info: () => {}, warn: (details) => void warnings.push(details), error: () => {} };

/** The enqueued names, in order. */
class Asked {
  readonly #names: string[] = [];
  #wake = (): void => undefined;

  readonly push = ({ name }: { name: string }): void => {
    this.#names.push(name);
    this.#wake();
  };

  async next(): Promise<string> {
    while (this.#names.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#names.shift()!;
  }
}

async function openFolder(intervalMs = 20, settleTimeoutMs = 30_000): Promise<{ plugins: PluginFolder; asked: Asked }> {
  const asked = new Asked();
  openedFolder = new PluginFolder({ dir: folder.dir, log, intervalMs, settleTimeoutMs });
  await openedFolder.start(asked.push);
  return { plugins: openedFolder, asked };
}

const files = (name: string, version = '1.0.0'): Record<string, string> => ({
  'plugin.yaml': manifest({ name, version }),
  'index.ts': 'export default {}',
});

test('reports added, changed and removed folders', async () => {
  const { plugins, asked } = await openFolder();
  expect(plugins.mayBeFound('a')).toBe(false);
  await folder.write('a', files('a'));
  expect(await asked.next()).toBe('a');
  expect(plugins.find('a')).toMatchObject({
    name: 'a',
    folder: join(folder.dir, 'a'),
    manifest: { spec: { version: '1.0.0' } },
  });
  await folder.write('a', files('a', '2.0.0'));
  expect(await asked.next()).toBe('a');
  expect(plugins.find('a')!.manifest!.spec.version).toBe('2.0.0');
  await folder.write('a', files('b'));
  expect([await asked.next(), await asked.next()].toSorted()).toEqual(['a', 'b']);
  expect(plugins.find('a')).toBeUndefined();
  await folder.remove('a');
  expect(await asked.next()).toBe('b');
  expect(plugins.find('b')).toBeUndefined();
});

test('does not read a folder that was just written to', async () => {
  await folder.write('growing', { 'plugin.yaml': '{' });
  const { plugins } = await openFolder(60_000);
  expect([plugins.find('growing'), plugins.mayBeFound('any'), warnings]).toEqual([undefined, true, []]);
});

test('names an invalid plugin, and reports once a folder without a name, or with the name of another', async () => {
  await folder.write('a', { 'plugin.yaml': JSON.stringify({ metadata: { name: 'invalid' } }) });
  await folder.write('b', { 'plugin.yaml': 'nothing' });
  await folder.write('c', files('twin'));
  await folder.write('d', files('twin', '2.0.0'));
  await writeFile(join(folder.dir, 'a-file'), '');
  await mkdir(join(folder.dir, '.hidden'));
  // Until both have settled: otherwise the folder that is read later may be judged first.
  await delay(100);
  const { plugins, asked } = await openFolder();
  const names = new Set<string>();
  while (names.size < 2) names.add(await asked.next());
  expect(names).toEqual(new Set(['invalid', 'twin']));
  expect(plugins.find('invalid')!.problem).toMatchObject({ reason: 'ManifestInvalid' });
  // Two new folders: when the second one is reported, the poll of the first one is complete, including its warnings.
  for (const name of ['e', 'f']) {
    await folder.write(name, files(name));
    while ((await asked.next()) !== name);
  }
  expect(plugins.find('twin')!.manifest!.spec.version).toBe('1.0.0');
  expect(warnings).toEqual([
    { folder: join(folder.dir, 'b'), reason: expect.stringContaining('plugin.yaml') },
    { folder: join(folder.dir, 'd'), reason: `the plugin twin is in ${join(folder.dir, 'c')} already` },
  ]);
});

test('follows a link to a folder, ignores links within one, and reports a folder that is too large', async () => {
  await folder.write('../elsewhere', files('linked'));
  await mkdir(folder.dir, { recursive: true });
  await symlink(join(folder.root, 'elsewhere'), join(folder.dir, 'link'));
  await symlink('..', join(folder.root, 'elsewhere/up'));
  await symlink('nowhere', join(folder.root, 'elsewhere/dangling'));
  await folder.write('deep', files('deep'));
  await folder.write(join('deep', 'x/'.repeat(20)), { 'file.txt': '' });
  const { plugins, asked } = await openFolder();
  const names = new Set<string>();
  while (names.size < 2) names.add(await asked.next());
  expect(plugins.find('linked')!.manifest).toBeDefined();
  expect(plugins.find('deep')!.problem).toMatchObject({ reason: 'FolderTooLarge' });
  await rename(join(folder.root, 'elsewhere'), join(folder.root, 'away'));
  expect(await asked.next()).toBe('linked');
});

test('a folder that keeps changing affects only its own plugin, and is read after a timeout', async () => {
  await folder.write('busy', files('busy'));
  const { plugins, asked } = await openFolder(60_000, 0);
  expect([plugins.find('busy')?.name, await asked.next()]).toEqual(['busy', 'busy']);
  await plugins.stop();
  const { plugins: patient } = await openFolder(60_000);
  expect([patient.find('busy'), patient.mayBeFound('busy'), patient.mayBeFound('other')]).toEqual([
    undefined,
    true,
    false,
  ]);
});

test('a copy of a folder is ignored, under any name, until the first one is removed', async () => {
  const { plugins, asked } = await openFolder();
  await folder.write('b', files('twin'));
  expect(await asked.next()).toBe('twin');
  await folder.write('a', files('twin', '2.0.0'));
  expect(await asked.next()).toBe('twin');
  expect(plugins.find('twin')!.folder).toBe(join(folder.dir, 'b'));
  await folder.write('b', { 'plugin.yaml': 'nothing' });
  expect(await asked.next()).toBe('twin');
  expect(plugins.find('twin')).toMatchObject({ folder: join(folder.dir, 'b'), problem: { reason: 'ManifestInvalid' } });
  await folder.remove('b');
  expect(await asked.next()).toBe('twin');
  expect(plugins.find('twin')!.folder).toBe(join(folder.dir, 'a'));
});

test('of two at the start the one with the name of the plugin is used', async () => {
  await folder.write('a-backup', files('twin', '0.9.0'));
  await folder.write('twin', files('twin'));
  const { plugins, asked } = await openFolder(60_000, 0);
  expect([await asked.next(), await asked.next()]).toEqual(['twin', 'twin']);
  expect(plugins.find('twin')!.folder).toBe(join(folder.dir, 'twin'));
});

test.each([
  [
    'a text that cannot be kept',
    'apiVersion: plugin.svc.run/v1alpha1\nkind: Plugin\nmetadata:\n  name: odd\nspec: { version: 1.0.0, description: "a\\0b" }\n',
  ],
  ['no YAML', 'metadata: { name: odd }\nspec: { version: 1.0.0\n'],
])('a manifest with %s is reported under its name', async (_case, text) => {
  await folder.write('a', { 'plugin.yaml': text });
  const { plugins, asked } = await openFolder();
  expect([await asked.next(), plugins.find('odd')!.problem?.reason]).toEqual(['odd', 'ManifestInvalid']);
});
