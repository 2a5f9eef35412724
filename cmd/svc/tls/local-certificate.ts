import { X509Certificate } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { readSecretFile, writeSecretFile } from '#pkg/access/index';
import { ServerCertificate, type KeyPair } from '#pkg/http/index';
import { issueCertificate, makeAuthority } from './local-authority.ts';

const dayMs = 86_400_000;
/** When to renew before the expiry; a third of the server certificate's life. */
const renewDays = 30;
/** How soon a changed clock is noticed. Milliseconds. */
const lookIntervalMs = 60_000;

export interface LocalCertificateOptions {
  /** Contains `ca.crt`, `ca.key`, `server.crt` and `server.key`; created if missing. */
  folder: string;
  /** Names and addresses in addition to those of this machine. */
  hosts: readonly string[];
  log: Logger;
  /** Interval of the checks; default a minute. Milliseconds. */
  lookMs?: number;
}

/**
 * The certificate of a server on one machine, issued by an authority in its data folder. Missing, damaged, not yet
 * valid and soon expiring files are replaced at the start, and the certificate also while the server runs; clients that
 * trust `ca.crt` do not notice. Clients must get a new authority by hand.
 */
export class LocalCertificate {
  readonly certificate: ServerCertificate;
  /** Certificate of the authority, PEM. */
  readonly authority: string;
  readonly #timer: NodeJS.Timeout;
  #renewing: Promise<void> = Promise.resolve();
  #hasWarned = false;

  private constructor(options: LocalCertificateOptions, authority: KeyPair, pair: KeyPair) {
    this.certificate = new ServerCertificate(pair);
    this.authority = authority.cert;
    this.#timer = setInterval(() => {
      this.#renewing = this.#renewing.then(() => this.#renew(options, authority));
    }, options.lookMs ?? lookIntervalMs);
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

  /** Stops the renewal. Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
  }

  async #renew(options: LocalCertificateOptions, authority: KeyPair): Promise<void> {
    if (!isAuthority(authority)) return this.#warn(options);
    if (isTimely(new X509Certificate(this.certificate.pair.cert))) return;
    try {
      this.certificate.replace(await writePair(options, 'server', await issueCertificate(authority, namesOf(options))));
      options.log.info({ notAfter: this.certificate.notAfter.toISOString() }, 'renewed certificate');
    } catch (error) {
      options.log.error({ err: error }, 'could not renew certificate');
    }
  }

  /** Only warns: kubeconfig and clients contain the authority, so it stays until the next start. */
  #warn({ folder, log }: LocalCertificateOptions): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    log.warn(
      { file: join(folder, 'ca.crt') },
      "the certificate authority is expired, expires soon, or is not valid yet by this machine's clock; restart to generate a new one",
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
      'the certificate authority cannot be used; generating a new one, which clients must be given',
    );
  return writePair(options, 'ca', await makeAuthority());
}

/** Undefined if either file is missing. */
async function readPair({ folder }: LocalCertificateOptions, name: string): Promise<KeyPair | undefined> {
  const cert = await readSecretFile(join(folder, `${name}.crt`));
  const key = await readSecretFile(join(folder, `${name}.key`));
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

/** The key first, so that a stored certificate always has its key. */
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

/** Undefined for a damaged certificate. */
function read(pair: KeyPair | undefined): X509Certificate | undefined {
  if (pair === undefined) return undefined;
  try {
    // Throws if key and certificate do not match.
    void new ServerCertificate(pair);
    return new X509Certificate(pair.cert);
  } catch {
    return undefined;
  }
}

/** Whether it is valid by the clock of this machine, and not close to its expiry. */
function isTimely({ validFrom, validTo }: X509Certificate): boolean {
  const now = Date.now();
  return Date.parse(validFrom) <= now && now <= Date.parse(validTo) - renewDays * dayMs;
}
