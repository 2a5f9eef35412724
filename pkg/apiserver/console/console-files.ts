import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { PageFiles, type PageFile, type PageSource } from '#pkg/http/index';

/** In the pages; each answer has its own nonce in these places. */
const noncePlaceholder = '__CSP_NONCE__';

const pageFiles = { console: 'index.html', userCenter: 'uc.html' } as const;
export type BuiltPage = keyof typeof pageFiles;
const pageNames: ReadonlySet<string> = new Set(Object.values(pageFiles));

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
 * The console and the user center as a build has written them: their pages, and files by their paths. The names are read
 * before any request, so that none can name another file of the disk.
 */
export class ConsoleFiles {
  readonly #pages: Readonly<Record<BuiltPage, readonly string[]>>;
  readonly #files: PageFiles;

  private constructor(pages: Readonly<Record<BuiltPage, string>>, sources: Readonly<Record<string, PageSource>>) {
    this.#pages = {
      console: pages.console.split(noncePlaceholder),
      userCenter: pages.userCenter.split(noncePlaceholder),
    };
    this.#files = new PageFiles(sources);
  }

  /** Undefined if the folder lacks one of the two pages. */
  static async read(folder: string): Promise<ConsoleFiles | undefined> {
    const [console, userCenter] = await Promise.all([
      readFile(join(folder, pageFiles.console), 'utf8').catch(ignoreMissing),
      readFile(join(folder, pageFiles.userCenter), 'utf8').catch(ignoreMissing),
    ]);
    if (console === undefined || userCenter === undefined) return undefined;
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    // A link may lead out of the folder.
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return new ConsoleFiles({ console, userCenter }, sourcesOf(folder, new Set(paths)));
  }

  /** The page with this nonce. */
  pageWith(page: BuiltPage, nonce: string): string {
    return this.#pages[page].join(nonce);
  }

  /** Undefined for an unknown name, and if a newer build has removed the file. */
  async find(path: string): Promise<PageFile | undefined> {
    try {
      return await this.#files.find(path);
    } catch (error) {
      return ignoreMissing(error);
    }
  }
}

/** The folder of the console, into which a build may come, or another one, while the server runs. */
export class ConsoleFolder {
  readonly #path: string;
  #version: string | undefined;
  #files: ConsoleFiles | undefined;
  #looking: Promise<ConsoleFiles | undefined> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** The newest build; undefined if there is none. */
  files(): Promise<ConsoleFiles | undefined> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<ConsoleFiles | undefined> {
    const version = await this.#versionNow();
    if (version !== this.#version) {
      this.#files = await ConsoleFiles.read(this.#path);
      this.#version = version;
    }
    return this.#files;
  }

  /** Another text for each build: a file that comes or goes changes its folder. */
  async #versionNow(): Promise<string> {
    const places = [join(this.#path, 'index.html'), join(this.#path, 'assets'), this.#path];
    const stats = await Promise.all(places.map((place) => stat(place).catch(ignoreMissing)));
    return stats.map((each) => `${each?.ino} ${each?.mtimeMs}`).join();
  }
}

/** @throws the error, if it does not say that a file is missing */
function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

function sourcesOf(folder: string, paths: ReadonlySet<string>): Record<string, PageSource> {
  const sources: Record<string, PageSource> = {};
  for (const path of paths) {
    const name = relative(folder, path).split(sep).join('/');
    const contentType = contentTypes[/\.([a-z\d]+)$/.exec(name)?.[1] ?? ''];
    if (contentType === undefined || pageNames.has(name)) continue;
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
