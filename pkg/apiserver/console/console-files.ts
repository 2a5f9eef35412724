import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { PageFiles, type PageSource } from '#pkg/http/index';

/** In `index.html`; each answer has its own nonce in these places. */
const noncePlaceholder = '__CSP_NONCE__';

const contentTypes: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  map: 'application/json',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
};

/**
 * The console as a build has written it: `index.html`, and files by their paths. The names are read once, so that no
 * request can name another file of the disk.
 */
export class ConsoleFiles {
  readonly #index: readonly string[];
  readonly #files: PageFiles;

  private constructor(index: string, sources: Readonly<Record<string, PageSource>>) {
    this.#index = index.split(noncePlaceholder);
    this.#files = new PageFiles(sources);
  }

  /** Undefined if the folder has no `index.html`. */
  static async read(folder: string): Promise<ConsoleFiles | undefined> {
    let index: string;
    try {
      index = await readFile(join(folder, 'index.html'), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    // A link may lead out of the folder.
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return new ConsoleFiles(index, sourcesOf(folder, new Set(paths)));
  }

  /** `index.html` with this nonce. */
  indexWith(nonce: string): string {
    return this.#index.join(nonce);
  }

  find(path: string): ReturnType<PageFiles['find']> {
    return this.#files.find(path);
  }
}

function sourcesOf(folder: string, paths: ReadonlySet<string>): Record<string, PageSource> {
  const sources: Record<string, PageSource> = {};
  for (const path of paths) {
    const name = relative(folder, path).split(sep).join('/');
    const contentType = contentTypes[/\.([a-z\d]+)$/.exec(name)?.[1] ?? ''];
    if (contentType === undefined || name === 'index.html') continue;
    const [gzipped, brotli] = [`${path}.gz`, `${path}.br`];
    sources[name] = {
      path: () => path,
      contentType,
      ...(paths.has(gzipped) ? { gzipped } : {}),
      ...(paths.has(brotli) ? { brotli } : {}),
    };
  }
  return sources;
}
