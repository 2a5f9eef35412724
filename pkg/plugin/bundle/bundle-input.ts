import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import type { OnLoadResult, Plugin } from 'esbuild';
import { fileDigest } from './fingerprint.ts';

/** The identifier that replaces `import.meta.url`. */
const moduleUrl = 'svcModuleUrl';

/**
 * Reads the source files of a bundle. `digests` gets the digest of each file as read here, so that a change during
 * bundling is detected. `import.meta.url` stays the URL of the author's file, so that the code finds the files next to
 * it.
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

/** Stays on the first line, so that line numbers do not change. */
function withUrl(text: string, path: string): string {
  return `const ${moduleUrl} = ${JSON.stringify(pathToFileURL(path).href)};${text.replace(/^#!.*/, '')}`;
}
