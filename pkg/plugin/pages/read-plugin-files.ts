import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { fileWithin, readFileWithin } from '../manifest/file-within.ts';
import { PluginError } from '../plugin-error.ts';
import { bundlePages } from './bundle-pages.ts';
import { contentTypeOf, pageFileEndings } from './content-type-of.ts';
import { PluginFiles } from './plugin-files.ts';

const uiFolder = 'ui';
const reason = 'PagesInvalid';
const limits = { files: 500, depth: 8, fileBytes: 4 << 20, totalBytes: 16 << 20 };
/** What a URL contains as it is. */
const nameForm = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;

/**
 * The files of the plugin's pages: those of `ui/` as they are, and what `pages/` is built to. Names that begin with a
 * dot, and links to folders, are left out.
 * @throws PluginError PagesInvalid that names the file: for a name or a type that is not served, a link out of the
 * plugin's folder, a file in both folders, and past the limits; BundleFailed
 */
export async function readPluginFiles(folder: string): Promise<PluginFiles> {
  const files = new Map<string, Buffer>();
  let size = 0;
  const add = (path: string, bytes: Buffer, place: string): void => {
    if (files.has(path)) throw newPagesInvalid(place, `the file ${path} is in ui/ and made from pages/`);
    size += bytes.length;
    if (size > limits.totalBytes)
      throw newPagesInvalid(place, `with this file the pages are more than ${limits.totalBytes} bytes`);
    files.set(path, bytes);
    if (files.size > limits.files)
      throw newPagesInvalid(place, `${limits.files} files are the most that pages may have`);
  };
  for (const path of await filesBelow(folder, uiFolder, 1)) {
    const bytes = await readFileWithin(folder, path, { reason, maxBytes: limits.fileBytes });
    // It was removed meanwhile: the next look at the folder starts again.
    if (bytes !== undefined) add(path.slice(uiFolder.length + 1), bytes, path);
  }
  for (const [path, bytes] of await bundlePages(folder)) add(path, bytes, `pages/${path}`);
  return new PluginFiles(files);
}

async function filesBelow(folder: string, within: string, depth: number): Promise<string[]> {
  const real = await fileWithin(folder, within, reason);
  if (real === undefined) return [];
  if (depth > limits.depth) throw newPagesInvalid(within, `it is deeper than ${limits.depth} folders`);
  const entries = await readdir(join(folder, within), { withFileTypes: true });
  const files: string[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = entry;
    if (name.startsWith('.')) continue;
    const path = `${within}/${name}`;
    if (!nameForm.test(name))
      throw newPagesInvalid(path, 'the name may have letters, digits, dots, hyphens and underscores, at most 100');
    if (entry.isDirectory()) files.push(...(await filesBelow(folder, path, depth + 1)));
    else if (contentTypeOf(name) === undefined)
      throw newPagesInvalid(
        path,
        `files of pages end with one of ${pageFileEndings.map((each) => `.${each}`).join(', ')}`,
      );
    else files.push(path);
    if (files.length > limits.files)
      throw newPagesInvalid(path, `${limits.files} files are the most that pages may have`);
  }
  return files;
}

/** `place` is a file or a document in it. */
export function newPagesInvalid(place: string, message: string): PluginError {
  return new PluginError({ reason, message: `${place}: ${message}` });
}
