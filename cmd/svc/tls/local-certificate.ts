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
/** Before the end of a certificate; of the server's, a third of its life. */
const RENEW_DAYS = 30;
/** A clock that is set is noticed so soon. */
const LOOK_MS = 60_000;

export interface LocalCertificateOptions {
  /** Holds `ca.crt`, `ca.key`, `server.crt` and `server.key`; made where it is missing. */
  folder: string;
  /** Names and addresses besides those of this machine. */
  hosts: readonly string[];
  log: Logger;
  /** The certificate is looked at this often; default a minute. */
  lookMs?: number;
}

/**
 * The certificate of a server on one machine, by an authority that lives in its data folder. What is missing, damaged,
 * not valid yet by the clock, or soon out of date is made anew at the start, and the certificate while it runs, too;
 * clients that have `ca.crt` notice nothing. Another authority is theirs to be given.
 */
export class LocalCertificate {
  readonly certificate: ServerCertificate;
  /** Of the authority, PEM. */
  readonly authority: string;
  readonly #timer: NodeJS.Timeout;
  #renewing: Promise<void> = Promise.resolve();
  #hasWarned = false;

  private constructor(options: LocalCertificateOptions, authority: KeyPair, pair: KeyPair) {
    this.certificate = new ServerCertificate(pair);
    this.authority = authority.cert;
    this.#timer = setInterval(() => {
      this.#renewing = this.#renewing.then(() => this.#renew(options, authority));
    }, options.lookMs ?? LOOK_MS);
    this.#timer.unref();
  }

  static async open(options: LocalCertificateOptions): Promise<LocalCertificate> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    const kept = await readPair(options, 'ca');
    const authority = isAuthority(kept) ? kept : await newAuthority(options);
    const server = kept === authority ? await readPair(options, 'server') : undefined;
    const pair = isGood(server, authority, namesOf(options))
      ? server
      : await writePair(options, 'server', await issueCertificate(authority, namesOf(options)));
    return new LocalCertificate(options, authority, pair);
  }

  /** It is renewed no more. Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
  }

  async #renew(options: LocalCertificateOptions, authority: KeyPair): Promise<void> {
    if (!isAuthority(authority)) return this.#warn(options);
    if (isTimely(new X509Certificate(this.certificate.pair.cert))) return;
    try {
      this.certificate.replace(await writePair(options, 'server', await issueCertificate(authority, namesOf(options))));
      options.log.info({ notAfter: this.certificate.notAfter.toISOString() }, 'the certificate was renewed');
    } catch (error) {
      options.log.error({ err: error }, 'the certificate cannot be renewed');
    }
  }

  /** It is in kubeconfig, and clients have it: it stays until the next start. */
  #warn({ folder, log }: LocalCertificateOptions): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    log.warn(
      { file: join(folder, 'ca.crt') },
      'the authority is not valid by the clock of this machine, or soon out of date; restart to have it made anew',
    );
  }
}

function namesOf({ hosts }: LocalCertificateOptions): string[] {
  const name = hostname().toLowerCase();
  return [...new Set(['localhost', '127.0.0.1', '::1', ...(/^[a-z0-9.-]{1,253}$/.test(name) ? [name] : []), ...hosts])];
}

async function newAuthority(options: LocalCertificateOptions): Promise<KeyPair> {
  const file = join(options.folder, 'ca.crt');
  if ((await readSecretFile(file)) !== undefined)
    options.log.warn(
      { file },
      'the authority cannot be used, and is made anew: clients that were given it need the new one',
    );
  return writePair(options, 'ca', await makeAuthority());
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
  log.info({ file: join(folder, `${name}.crt`) }, 'generated certificate');
  return pair;
}

function isAuthority(pair: KeyPair | undefined): pair is KeyPair {
  const certificate = read(pair);
  return certificate !== undefined && certificate.ca && isTimely(certificate);
}

function isGood(pair: KeyPair | undefined, authority: KeyPair, names: readonly string[]): pair is KeyPair {
  const certificate = read(pair);
  if (certificate === undefined || !isTimely(certificate)) return false;
  const isFor = (name: string): boolean =>
    (isIP(name) === 0 ? certificate.checkHost(name, { subject: 'never' }) : certificate.checkIP(name)) !== undefined;
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

/** Valid by the clock of this machine, and not near its end. */
function isTimely({ validFrom, validTo }: X509Certificate): boolean {
  const now = Date.now();
  return Date.parse(validFrom) <= now && now <= Date.parse(validTo) - RENEW_DAYS * DAY_MS;
}
