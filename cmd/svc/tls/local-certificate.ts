import { X509Certificate } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { readSecretFile, writeSecretFile } from '#pkg/access/index';
import { ServerCertificate, type KeyPair } from '#pkg/http/index';
import { issueCertificate, makeAuthority } from './local-authority.ts';

const DAY_MS = 86_400_000;
/** Before the end of the server's certificate, a third of its life. */
const RENEW_DAYS = 30;
const LOOK_MS = DAY_MS / 2;

export interface LocalCertificateOptions {
  /** Holds `ca.crt`, `ca.key`, `server.crt` and `server.key`; made where it is missing. */
  folder: string;
  /** Names and addresses besides those of this machine. */
  hosts: readonly string[];
  log: Logger;
}

/**
 * The certificate of a server on one machine, by an authority that lives in its data folder. What is missing, damaged, or soon out of date is made anew, at the
 * start and while it runs; clients that have `ca.crt` notice nothing.
 */
export class LocalCertificate {
  readonly certificate: ServerCertificate;
  /** Of the authority, PEM. */
  readonly authority: string;
  readonly #timer: NodeJS.Timeout;
  #renewing: Promise<void> = Promise.resolve();

  private constructor(options: LocalCertificateOptions, authority: KeyPair, pair: KeyPair) {
    this.certificate = new ServerCertificate(pair);
    this.authority = authority.cert;
    this.#timer = setInterval(() => {
      this.#renewing = this.#renewing.then(() => this.#renew(options, authority));
    }, LOOK_MS);
    this.#timer.unref();
  }

  static async open(options: LocalCertificateOptions): Promise<LocalCertificate> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    const kept = await readPair(options, 'ca');
    const authority = isAuthority(kept) ? kept : await writePair(options, 'ca', await makeAuthority());
    const server = kept === authority ? await readPair(options, 'server') : undefined;
    const pair = isGood(server, authority, namesOf(options)) ? server : await writePair(options, 'server', await issueCertificate(authority, namesOf(options)));
    return new LocalCertificate(options, authority, pair);
  }

  /** It is renewed no more. Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
  }

  async #renew(options: LocalCertificateOptions, authority: KeyPair): Promise<void> {
    if (!isNearItsEnd(this.certificate.notAfter)) return;
    try {
      this.certificate.replace(await writePair(options, 'server', await issueCertificate(authority, namesOf(options))));
      options.log.info({ notAfter: this.certificate.notAfter.toISOString() }, 'the certificate was renewed');
    } catch (error) {
      options.log.error({ err: error }, 'the certificate cannot be renewed');
    }
  }
}

function namesOf({ hosts }: LocalCertificateOptions): string[] {
  const name = hostname().toLowerCase();
  return [...new Set(['localhost', '127.0.0.1', '::1', ...(/^[a-z0-9.-]{1,253}$/.test(name) ? [name] : []), ...hosts])];
}

/** Undefined where either is missing. */
async function readPair({ folder }: LocalCertificateOptions, name: string): Promise<KeyPair | undefined> {
  const cert = await readSecretFile(join(folder, `${name}.crt`));
  const key = await readSecretFile(join(folder, `${name}.key`));
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

/** The key first: a certificate on the disk has its key beside it. */
async function writePair({ folder, log }: LocalCertificateOptions, name: string, pair: KeyPair): Promise<KeyPair> {
  await writeSecretFile(join(folder, `${name}.key`), pair.key.trimEnd());
  await writeSecretFile(join(folder, `${name}.crt`), pair.cert.trimEnd());
  log.info({ file: join(folder, `${name}.crt`) }, 'a certificate was made');
  return pair;
}

function isAuthority(pair: KeyPair | undefined): pair is KeyPair {
  const certificate = read(pair);
  return certificate !== undefined && certificate.ca && !isNearItsEnd(new Date(certificate.validTo));
}

function isGood(pair: KeyPair | undefined, authority: KeyPair, names: readonly string[]): pair is KeyPair {
  const certificate = read(pair);
  if (certificate === undefined || isNearItsEnd(new Date(certificate.validTo))) return false;
  const isFor = (name: string): boolean => (isIP(name) === 0 ? certificate.checkHost(name, { subject: 'never' }) : certificate.checkIP(name)) !== undefined;
  return certificate.verify(new X509Certificate(authority.cert).publicKey) && names.every(isFor);
}

/** Undefined for what is damaged. */
function read(pair: KeyPair | undefined): X509Certificate | undefined {
  if (pair === undefined) return undefined;
  try {
    // It refuses what is no pair.
    void new ServerCertificate(pair);
    return new X509Certificate(pair.cert);
  } catch {
    return undefined;
  }
}

function isNearItsEnd(notAfter: Date): boolean {
  return notAfter.getTime() - Date.now() < RENEW_DAYS * DAY_MS;
}
