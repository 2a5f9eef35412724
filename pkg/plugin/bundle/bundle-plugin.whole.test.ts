import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PluginError } from '../plugin-error.ts';
import { bundlePlugin, type PluginBundle } from './bundle-plugin.ts';
import { fingerprintOf } from './fingerprint.ts';

let root: string;
let outDir: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-bundle-'));
  outDir = join(root, 'out');
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

async function bundle(
  files: Readonly<Record<string, string>>,
  main = 'index.ts',
): Promise<PluginBundle & { text: string; folder: string }> {
  const folder = await folderOf(files);
  const made = await bundlePlugin({ folder, main, outDir });
  return { ...made, folder, text: await readFile(made.file, 'utf8') };
}

test('bundles a module with its imports', async () => {
  const made = await bundle({
    'index.ts': `import { definePlugin, type Client } from '@svc/sdk';\nimport { word } from './src/word.ts';\nimport text from './note.txt';\nimport { readFileSync } from 'fs';\nexport const all = [word, text, readFileSync] as unknown[];\nexport default definePlugin({});`,
    'src/word.ts': `import leftPad from 'left-pad';\nexport const word: string = leftPad('word');`,
    'note.txt': 'a note',
    'node_modules/left-pad/package.json': '{"main":"pad.js"}',
    'node_modules/left-pad/pad.js': `const path = require('node:path');\nmodule.exports = (text) => path.join(' ', text);`,
  });
  expect(made.text).toMatch(/^import \{ definePlugin \} from "file:\/\/\/.*\/sdk-[0-9a-f]{16}\/sdk\.mjs";$/m);
  expect(made.text).toContain('from "fs"');
  expect(made.text).toContain('a note');
  expect(made.text).toContain('//# sourceMappingURL=data:application/json;base64,');
  expect(made.files).toEqual(
    ['index.ts', 'node_modules/left-pad/pad.js', 'note.txt', 'src/word.ts'].map((name) => join(made.folder, name)),
  );
  expect(made.indexKeys).toBeUndefined();
  expect((await readdir(join(made.worker, '..'))).toSorted()).toEqual(
    expect.arrayContaining(['sdk.mjs', 'worker.mjs']),
  );
});

test('import.meta.url is that of the source file', async () => {
  const made = await bundle({
    'index.ts': `import { url } from './lib/url.js';\nexport const urls = [url, import.meta.url];`,
    'lib/url.js': 'export const url = import.meta.url;',
  });
  for (const name of ['index.ts', 'lib/url.js'])
    expect(made.text).toContain(JSON.stringify(pathToFileURL(join(made.folder, name)).href));
  expect(made.text).not.toContain('import.meta');
});

test('a changed input has another fingerprint, and the next bundle replaces the last', async () => {
  const made = await bundle({ 'index.ts': `import './b.ts';`, 'b.ts': 'console.log(1);' });
  expect(await fingerprintOf(made.files.toReversed())).toBe(made.fingerprint);
  await writeFile(join(made.folder, 'b.ts'), 'console.log(2);');
  expect(await fingerprintOf(made.files)).not.toBe(made.fingerprint);
  const again = await bundlePlugin({ folder: made.folder, main: 'index.ts', outDir });
  expect(again.file).toBe(made.file);
  expect(again.fingerprint).toBe(await fingerprintOf(again.files));
  await rm(join(made.folder, 'b.ts'));
  expect(await fingerprintOf(made.files)).not.toBe(again.fingerprint);
});

test('bundles many modules concurrently, and restores an SDK that somebody removed', async () => {
  const folder = await folderOf({ 'index.ts': `export * from '@svc/sdk';` });
  const made = await Promise.all(Array.from({ length: 5 }, () => bundlePlugin({ folder, main: 'index.ts', outDir })));
  expect(new Set(made.map(({ worker }) => worker)).size).toBe(1);
  await rm(outDir, { recursive: true });
  const [again] = await Promise.all(
    Array.from({ length: 3 }, () => bundlePlugin({ folder, main: 'index.ts', outDir })),
  );
  expect(again).toEqual(made[0]);
  expect(await readFile(again!.worker, 'utf8')).toContain('import');
});

test.each<[string, Record<string, string>, string | RegExp]>([
  ['a syntax error', { 'index.ts': 'const a = 1;\n  let b = ;' }, /^index\.ts:2:11: Unexpected ";"$/],
  [
    'a file that is missing',
    { 'index.ts': `import { a } from './a.ts'; a();` },
    /^index\.ts:1:19: Could not resolve "\.\/a\.ts"/,
  ],
  [
    'a package that is missing',
    { 'index.ts': `import pad from 'left-pad/sub.js'; pad();` },
    /^index\.ts:1:17: the package left-pad is not in the plugin's node_modules: run "npm install left-pad" in \//,
  ],
  [
    'a package that only the host has',
    { 'index.ts': `import { Type } from 'typebox'; Type;` },
    /^index\.ts:1:22: the package typebox is not in/,
  ],
  ['one of a scope', { 'index.ts': `import '@a/b/c.js';` }, /the package @a\/b is not in/],
  ['another of ours', { 'index.ts': `import '@svc/sdk/inner';` }, /the host gives @svc\/sdk alone/],
  [
    'a name that a file does not export',
    { 'index.ts': `import { b } from './b.ts'; console.log(b);`, 'b.ts': 'export const a = 1;' },
    /No matching export in "b\.ts" for import "b"/,
  ],
  [
    'an import of the keys by Node',
    { 'index.ts': '', 'index-keys.ts': `import 'node:fs';` },
    /^index-keys\.ts:1:8: index keys are pure: their module cannot import node:fs$/,
  ],
  [
    'an import of the keys by the SDK',
    { 'index.ts': '', 'index-keys.ts': `import './a.ts';`, 'a.ts': `import { Type } from '@svc/sdk'; Type;` },
    /^a\.ts:1:22: index keys are pure: their module cannot import @svc\/sdk$/,
  ],
])('%s is reported with its position', async (_case, files, message) => {
  const folder = await folderOf(files);
  const failure = bundlePlugin({ folder, main: 'index.ts', outDir });
  await expect(failure).rejects.toBeInstanceOf(PluginError);
  await expect(failure).rejects.toMatchObject({ reason: 'BundleFailed', message: expect.stringMatching(message) });
});

test('index keys are a script without imports', async () => {
  const { indexKeys, files, folder } = await bundle(
    {
      'src/index.ts': 'export default 1;',
      'src/index-keys.ts': `import { lower } from './lower.ts';\nexport const slug = (object: { title: string }): string => lower(object.title);`,
      'src/lower.ts': 'export const lower = (text: string): string => text.toLowerCase();',
    },
    'src/index.ts',
  );
  expect(runInContext(`${indexKeys}; indexKeys.slug({ title: 'Abc' })`, createContext({}))).toBe('abc');
  expect(files).toContain(join(folder, 'src/lower.ts'));
});

test('comments, formatting and file locations do not change the functions of index keys', async () => {
  const source = (at: string, body: string) =>
    `import { lower } from '${at}';\nexport const slug = (object: { title: string }) => { ${body} };`;
  const lower = 'export const lower = (text: string) => text.toLowerCase();';
  const forms = [
    {
      'index-keys.ts': source('./lower.ts', 'return object.title.length > 2 ? lower(object.title) : null;'),
      'lower.ts': lower,
    },
    {
      'index-keys.ts': source(
        './lib/texts.ts',
        '// A name.\n return (object.title.length > 2)\n ? /* in small */ lower(object.title) : null',
      ),
      'lib/texts.ts': `/* Texts. */\n${lower}`,
    },
  ];
  const [one, two] = await Promise.all(forms.map((files) => bundle({ 'index.ts': 'export default 1;', ...files })));
  expect(two!.indexKeys).toBe(one!.indexKeys);
});
