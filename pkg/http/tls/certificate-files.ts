import { watch, type FSWatcher } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { readSmallFile } from './read-small-file.ts';
import { CertificateError, ServerCertificate, type KeyPair } from './server-certificate.ts';

/** A chain of a few certificates takes a tenth of it. */
const maxFileBytes = 1024 * 1024;
/** Limit of reads while the files are replaced again and again. */
const maxReads = 5;

export interface CertificateFilesOptions {
  certFile: string;
  keyFile: string;
  log: Logger;
  /** Interval at which the files are also read, because a network volume reports no changes. Default 30 s. */
  pollMs?: number;
  /** Delay from a change until the files are read, so that both are written. Default 200 ms. */
  settleMs?: number;
}

/**
 * A certificate from two files, read again as a pair when they change. An unusable pair is logged once, and the
 * previous one stays in use. Kubernetes replaces the folder behind a mounted Secret, so folders are watched, not files.
 */
export class CertificateFiles {
  readonly certificate: ServerCertificate;
  readonly #options: CertificateFilesOptions;
  readonly #watchers: FSWatcher[] = [];
  readonly #poll: NodeJS.Timeout;
  #settling: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** The last pair that was refused. */
  #refused: KeyPair | undefined;
  /** The last logged reason of a failed read. */
  #complaint: string | undefined;

  private constructor(options: CertificateFilesOptions, pair: KeyPair) {
    this.#options = options;
    this.certificate = new ServerCertificate(pair);
    for (const folder of new Set([dirname(options.certFile), dirname(options.keyFile)])) this.#watch(folder);
    this.#poll = setInterval(() => this.#scheduleRead(), options.pollMs ?? 30_000);
    this.#poll.unref();
  }

  /** Throws CertificateError, which names the file. */
  static async open(options: CertificateFilesOptions): Promise<CertificateFiles> {
    const files = new CertificateFiles(options, await readPair(options));
    files.#warnOfAge();
    return files;
  }

  /** Stops watching. Idempotent. */
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
      // The folder is gone, or the system has too many watches: polling is enough.
      watcher.on('error', () => watcher.close());
      this.#watchers.push(watcher);
    } catch (error) {
      this.#options.log.debug({ err: error, folder }, 'a folder of certificates cannot be watched');
    }
  }

  #settle(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#scheduleRead(), this.#options.settleMs ?? 200);
  }

  /** Reads one after the other. */
  #scheduleRead(): void {
    this.#reading = this.#reading.then(() => this.#reload());
  }

  async #reload(): Promise<void> {
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
      const lastError = error instanceof Error ? error.message : String(error);
      if (lastError === this.#complaint) return;
      this.#complaint = lastError;
      log.error({ certFile, reason: lastError }, 'the new certificate cannot be used; the old one stays in use');
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

/** Reads both files of one version: if they are replaced between the two reads, certificate and key would not match. */
async function readPair({ certFile, keyFile }: CertificateFilesOptions): Promise<KeyPair> {
  let cert = await readText(certFile);
  for (let attempt = 1; ; attempt += 1) {
    const key = await readText(keyFile);
    const certAfter = await readText(certFile);
    if (certAfter === cert || attempt === maxReads) return { cert: certAfter, key };
    cert = certAfter;
  }
}

async function readText(file: string): Promise<string> {
  const text = await readSmallFile(file, maxFileBytes).catch((error: NodeJS.ErrnoException) => {
    throw new CertificateError(`${file} cannot be read (${error.code ?? 'error'})`, { cause: error });
  });
  if (text === undefined) throw new CertificateError(`${file} is too large for a certificate or a key`);
  return text;
}

function isSame(a: KeyPair, b: KeyPair): boolean {
  return a.cert === b.cert && a.key === b.key;
}
