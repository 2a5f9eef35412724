import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { indexHtml } from './index-html.ts';
import { initJs } from './init-js.ts';
import { styleCss } from './style-css.ts';

const compress = promisify(gzip);

/** One file of the page; it never changes while the process runs. */
export interface PageFile {
  contentType: string;
  hash: string;
  body: Buffer;
  /** Compressed once: anyone may ask for it, as often as they like. */
  gzipped: Buffer;
}

const texts = {
  '': { text: indexHtml, contentType: 'text/html; charset=utf-8' },
  'init.js': { text: initJs, contentType: 'text/javascript; charset=utf-8' },
  'style.css': { text: styleCss, contentType: 'text/css; charset=utf-8' },
} as const;

/** From the package swagger-ui-dist, where it is installed; none of its other files is served. */
const packaged = {
  'swagger-ui-bundle.js': { file: 'swagger-ui-bundle.js', contentType: 'text/javascript; charset=utf-8' },
  'swagger-ui.css': { file: 'swagger-ui.css', contentType: 'text/css; charset=utf-8' },
  'favicon.png': { file: 'favicon-32x32.png', contentType: 'image/png' },
} as const;

/** The page's files by name, '' for the page itself; each is read when first asked for. */
export class PageFiles {
  private readonly read = new Map<string, Promise<PageFile>>();

  /** Undefined for a name that is no file of the page. */
  find(name: string): Promise<PageFile> | undefined {
    if (!Object.hasOwn(texts, name) && !Object.hasOwn(packaged, name)) return undefined;
    let file = this.read.get(name);
    if (file === undefined) {
      file = load(name as keyof typeof texts | keyof typeof packaged);
      this.read.set(name, file);
      file.catch(() => this.read.delete(name));
    }
    return file;
  }
}

async function load(name: keyof typeof texts | keyof typeof packaged): Promise<PageFile> {
  if (name in texts) {
    const { text, contentType } = texts[name as keyof typeof texts];
    return pageFile(Buffer.from(text), contentType);
  }
  const { file, contentType } = packaged[name as keyof typeof packaged];
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return pageFile(await readFile(join(folder, file)), contentType);
}

async function pageFile(body: Buffer, contentType: string): Promise<PageFile> {
  return { contentType, body, hash: createHash('sha256').update(body).digest('hex'), gzipped: await compress(body) };
}
