import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { fileDigest, fingerprintFrom } from '../bundle/fingerprint.ts';

const compress = promisify(gzip);

/** A file as it is sent. */
export interface SentFile {
  body: Buffer;
  isGzipped: boolean;
}

/**
 * The files that a plugin's pages consist of, by their paths, in memory: what is served is what was read at the start,
 * whatever happens on disk.
 */
export class PluginFiles {
  /** Of all names and contents. Part of each file's URL, which therefore always means the same content. */
  readonly hash: string;
  readonly #files: ReadonlyMap<string, Buffer>;
  /** Each is compressed once: anyone may request it, any number of times. */
  readonly #gzipped = new Map<string, Promise<Buffer>>();

  constructor(files: ReadonlyMap<string, Buffer>) {
    this.#files = files;
    const digests = Array.from(files, ([path, bytes]) => [path, fileDigest(bytes)] as const);
    this.hash = fingerprintFrom(new Map(digests)).slice(0, 32);
  }

  has(path: string): boolean {
    return this.#files.has(path);
  }

  /** Undefined without such a file. */
  async find(path: string, { gzipped }: { gzipped: boolean }): Promise<SentFile | undefined> {
    const body = this.#files.get(path);
    if (body === undefined) return undefined;
    if (!gzipped) return { body, isGzipped: false };
    let made = this.#gzipped.get(path);
    if (made === undefined) this.#gzipped.set(path, (made = compress(body)));
    const smaller = await made;
    return smaller.length < body.length ? { body: smaller, isGzipped: true } : { body, isGzipped: false };
  }
}
