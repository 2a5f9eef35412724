import { watch, type FSWatcher } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { CertificateError, ServerCertificate, type KeyPair } from './server-certificate.ts';

/** A chain of a few certificates takes a tenth. */
const longestFile = 1024 * 1024;
/** Of files that are replaced again and again while they are read. */
const MAX_READS = 5;

export interface CertificateFilesOptions {
  certFile: string;
  keyFile: string;
  log: Logger;
  /** Files are looked at this often besides: a network volume tells of no change. Default 30 s. */
  pollMs?: number;
  /** From the first sign of a change until the files are read: both are written by then. Default 200 ms. */
  settleMs?: number;
}

/**
 * A certificate from two files, read anew when they change: both at once, as a pair. A pair that cannot be used is
 * logged once, and the one before stays in use. Kubernetes replaces the folder behind a mounted Secret, so folders are
 * watched, not files.
 */
export class CertificateFiles {
  readonly certificate: ServerCertificate;
  readonly #options: CertificateFilesOptions;
  readonly #watchers: FSWatcher[] = [];
  readonly #poll: NodeJS.Timeout;
  #settling: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** What was last read and refused. */
  #refused: KeyPair | undefined;
  /** What was last said of files that cannot be read. */
  #complaint: string | undefined;

  private constructor(options: CertificateFilesOptions, pair: KeyPair) {
    this.#options = options;
    this.certificate = new ServerCertificate(pair);
    for (const folder of new Set([dirname(options.certFile), dirname(options.keyFile)])) this.#watch(folder);
    this.#poll = setInterval(() => this.#look(), options.pollMs ?? 30_000);
    this.#poll.unref();
  }

  /** Throws CertificateError, which names the file. */
  static async open(options: CertificateFilesOptions): Promise<CertificateFiles> {
    const files = new CertificateFiles(options, await readPair(options));
    files.#warnOfAge();
    return files;
  }

  /** No change is noticed any more. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#poll);
    clearTimeout(this.#settling);
    for (const watcher of this.#watchers) watcher.close();
    await this.#reading;
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#settle());
      // The folder is gone, or the system watches too many: what is looked at from time to time is enough.
      watcher.on('error', () => watcher.close());
      this.#watchers.push(watcher);
    } catch (error) {
      this.#options.log.debug({ err: error, folder }, 'a folder of certificates cannot be watched');
    }
  }

  #settle(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#look(), this.#options.settleMs ?? 200);
  }

  /** One look after the other. */
  #look(): void {
    this.#reading = this.#reading.then(() => this.#readAgain());
  }

  async #readAgain(): Promise<void> {
    if (this.#isClosed) return;
    const { certFile, log } = this.#options;
    try {
      const pair = await readPair(this.#options);
      this.#complaint = undefined;
      if (isSame(pair, this.certificate.pair) || (this.#refused !== undefined && isSame(pair, this.#refused))) return;
      this.#refused = pair;
      this.certificate.replace(pair);
      this.#refused = undefined;
      log.info({ certFile, notAfter: this.certificate.notAfter.toISOString() }, 'the certificate was replaced');
      this.#warnOfAge();
    } catch (error) {
      const complaint = error instanceof Error ? error.message : String(error);
      if (complaint === this.#complaint) return;
      this.#complaint = complaint;
      log.error({ certFile, reason: complaint }, 'the new certificate cannot be used; the one before stays');
    }
  }

  #warnOfAge(): void {
    const { notAfter } = this.certificate;
    if (notAfter.getTime() < Date.now())
      this.#options.log.warn(
        { certFile: this.#options.certFile, notAfter: notAfter.toISOString() },
        'the certificate has expired',
      );
  }
}

/**
 * Both files of one version: where they are replaced between the two reads, the certificate of one and the key of the
 * other would be no pair.
 */
async function readPair({ certFile, keyFile }: CertificateFilesOptions): Promise<KeyPair> {
  let cert = await readText(certFile);
  for (let attempt = 1; ; attempt += 1) {
    const key = await readText(keyFile);
    const certAfter = await readText(certFile);
    if (certAfter === cert || attempt === MAX_READS) return { cert: certAfter, key };
    cert = certAfter;
  }
}

async function readText(file: string): Promise<string> {
  try {
    const handle = await open(file);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(longestFile + 1), 0, longestFile + 1, 0);
      if (bytesRead > longestFile) throw new CertificateError(`${file} is too large for a certificate or a key`);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof CertificateError) throw error;
    throw new CertificateError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`, {
      cause: error,
    });
  }
}

function isSame(a: KeyPair, b: KeyPair): boolean {
  return a.cert === b.cert && a.key === b.key;
}
