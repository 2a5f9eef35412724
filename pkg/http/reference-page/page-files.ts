import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const compress = promisify(gzip);

/** One file of a page; it never changes while the process runs. */
export interface PageFile {
  contentType: string;
  hash: string;
  body: Buffer;
  /** Compressed once: anyone may request it, any number of times. */
  gzipped: Buffer;
  /** Absent if there is no such file. */
  brotli?: Buffer;
}

/** Where a file comes from: `text` itself, or the path of a file on disk and of what a build has compressed. */
export type PageSource = { readonly contentType: string } & (
  { readonly text: string } | { readonly path: () => string; readonly gzipped?: string; readonly brotli?: string }
);

/** A page's files by name; each is created at its first request. */
export class PageFiles {
  readonly #sources: Readonly<Record<string, PageSource>>;
  readonly #made = new Map<string, Promise<PageFile>>();

  constructor(sources: Readonly<Record<string, PageSource>>) {
    this.#sources = sources;
  }

  /** Undefined for an unknown name. */
  find(name: string): Promise<PageFile> | undefined {
    if (!Object.hasOwn(this.#sources, name)) return undefined;
    let file = this.#made.get(name);
    if (file === undefined) {
      file = load(this.#sources[name]!);
      this.#made.set(name, file);
      file.catch(() => this.#made.delete(name));
    }
    return file;
  }
}

async function load(source: PageSource): Promise<PageFile> {
  const body = 'text' in source ? Buffer.from(source.text) : await readFile(source.path());
  const { gzipped, brotli } = 'text' in source ? {} : source;
  return {
    contentType: source.contentType,
    body,
    hash: createHash('sha256').update(body).digest('hex'),
    gzipped: gzipped === undefined ? await compress(body) : await readFile(gzipped),
    ...(brotli === undefined ? {} : { brotli: await readFile(brotli) }),
  };
}
