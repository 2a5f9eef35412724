import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readPresets } from './read-presets.ts';

let parent: string;
let folder: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'presets-'));
  folder = join(parent, 'blog');
  await mkdir(folder);
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const object = (name: string) => `apiVersion: v1\nkind: Widget\nmetadata:\n  name: ${name}\n`;

async function write(file: string, text: string | Buffer): Promise<void> {
  await mkdir(dirname(join(folder, file)), { recursive: true });
  await writeFile(join(folder, file), text);
}

const invalid = (message: string) =>
  expect.objectContaining({ reason: 'PresetsInvalid', message: expect.stringContaining(message) });

test('a plugin without presets has none', async () => {
  expect(await readPresets(folder)).toEqual([]);
});

test('files are read in the order of their names; other files, hidden ones and subfolders are not presets', async () => {
  await write('presets/b.yaml', `${object('b1')}---\n${object('b2')}`);
  await write('presets/a.yml', object('a'));
  await write('presets/Z.json', '{"apiVersion": "v1", "kind": "Widget", "metadata": {"name": "z"}}');
  await write('presets/.hidden.yaml', 'not: [valid');
  await write('presets/README.md', 'not: [valid');
  await write('presets/below/c.yaml', object('c'));
  const presets = await readPresets(folder);
  expect(presets.map(({ file, document, object: { metadata } }) => [file, document, metadata.name])).toEqual([
    ['presets/Z.json', 1, 'z'],
    ['presets/a.yml', 1, 'a'],
    ['presets/b.yaml', 1, 'b1'],
    ['presets/b.yaml', 2, 'b2'],
  ]);
});

test('an object that occurs twice is refused, with both positions', async () => {
  await write('presets/a.yaml', object('same'));
  await write('presets/b.yaml', `${object('other')}---\n${object('same')}`);
  await expect(readPresets(folder)).rejects.toEqual(
    invalid('presets/b.yaml, document 2: Widget same is in presets/a.yaml, document 1 as well'),
  );
});

test('the same name in another namespace, kind or version is another object', async () => {
  await write(
    'presets/a.yaml',
    [object('a'), `${object('a')}  namespace: n\n`, object('a').replace('Widget', 'Gadget')].join('---\n'),
  );
  expect(await readPresets(folder)).toHaveLength(3);
});

test('links must stay within the folder', async () => {
  await write('shared/a.yaml', object('a'));
  await write('presets/b.yaml', object('b'));
  await symlink('../shared/a.yaml', join(folder, 'presets/a.yaml'));
  expect(await readPresets(folder)).toHaveLength(2);
  await writeFile(join(parent, 'secret.yaml'), object('secret'));
  await symlink('../../secret.yaml', join(folder, 'presets/c.yaml'));
  await expect(readPresets(folder)).rejects.toEqual(
    invalid('presets/c.yaml: it is a link that leads out of the folder of the plugin'),
  );
});

test('a folder that is a link to a folder outside is refused, also one with the same prefix in its name', async () => {
  await mkdir(join(parent, 'blog-2'));
  await writeFile(join(parent, 'blog-2/a.yaml'), object('a'));
  await symlink('../blog-2', join(folder, 'presets'));
  await expect(readPresets(folder)).rejects.toEqual(invalid('presets/a.yaml: it is a link that leads out'));
});

test('a plugin’s folder may be a link itself', async () => {
  await write('presets/a.yaml', object('a'));
  await symlink(folder, join(parent, 'link'));
  expect(await readPresets(join(parent, 'link'))).toHaveLength(1);
});

test.each([
  ['a link to nothing', () => symlink('nothing', join(folder, 'presets/a.yaml')), 'presets: it cannot be read'],
  ['a folder with the name of a file', () => mkdir(join(folder, 'presets/a.yaml')), 'presets/a.yaml: it is no file'],
  [
    'a pipe',
    () => Promise.resolve(execFileSync('mkfifo', [join(folder, 'presets/a.yaml')])),
    'presets/a.yaml: it is no file',
  ],
  [
    'a large file',
    () => write('presets/a.yaml', Buffer.alloc((1 << 20) + 1, '#')),
    'presets/a.yaml: it has 1048577 bytes',
  ],
  [
    'much in all',
    async () =>
      Promise.all(Array.from({ length: 9 }, (_, i) => write(`presets/${i}.yaml`, Buffer.alloc(1 << 20, '#')))),
    'presets/8.yaml: with this file',
  ],
  [
    'many files',
    async () => Promise.all(Array.from({ length: 201 }, (_, i) => write(`presets/${i}.yaml`, '#'))),
    '201 files',
  ],
])('%s is refused', async (_case, make, message) => {
  await mkdir(join(folder, 'presets'));
  await make();
  await expect(readPresets(folder)).rejects.toEqual(invalid(message));
});

test('presets that is a file is refused', async () => {
  await write('presets', 'x');
  await expect(readPresets(folder)).rejects.toEqual(invalid('presets: it cannot be read'));
});
