import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import type { OnLoadResult, Plugin } from 'esbuild';
import { fileDigest } from './fingerprint.ts';

/** What stands for `import.meta.url`. */
const moduleUrl = 'svcModuleUrl';

/**
 * Reads what goes into a bundle. `digests` gets each file's as it was read, so that a change that comes while we bundle
 * is a change still. `import.meta.url` stays the URL of the author's file, so that what lies beside it is found; in the
 * bundle it would be the bundle's.
 */
export function bundleInput(digests: Map<string, string>): Plugin {
  return {
    name: 'bundle-input',
    setup: (build) => {
      const { initialOptions } = build;
      initialOptions.define = { ...initialOptions.define, 'import.meta.url': moduleUrl };
      build.onLoad({ filter: /.*/, namespace: 'file' }, async ({ path }): Promise<OnLoadResult> => {
        const contents = await readFile(path);
        digests.set(path, fileDigest(contents));
        return {
          contents:
            /\.[cm]?[jt]s$/.test(path) && contents.includes('import.meta.url')
              ? withUrl(contents.toString(), path)
              : contents,
          loader: 'default',
        };
      });
    },
  };
}

/** On the first line, so that no other moves. */
function withUrl(text: string, path: string): string {
  return `const ${moduleUrl} = ${JSON.stringify(pathToFileURL(path).href)};${text.replace(/^#!.*/, '')}`;
}
