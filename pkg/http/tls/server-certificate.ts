import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** A certificate followed by its chain, and its key; PEM. */
export interface KeyPair {
  cert: string;
  key: string;
}

/** A pair that no listener can use; the message ends a sentence, and never contains the key. */
export class CertificateError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CertificateError';
  }
}

/** The certificate of TLS listeners. It may be replaced while they listen; open connections keep the old one. */
export class ServerCertificate {
  #pair: KeyPair;
  #leaf: X509Certificate;
  readonly #listeners = new Set<(pair: KeyPair) => void>();

  /** Throws CertificateError. */
  constructor(pair: KeyPair) {
    this.#leaf = check(pair);
    this.#pair = pair;
  }

  get pair(): KeyPair {
    return this.#pair;
  }

  get notAfter(): Date {
    return new Date(this.#leaf.validTo);
  }

  /** Its DNS names without wildcards. */
  get dnsNames(): string[] {
    const names = this.#leaf.subjectAltName?.match(/DNS:[^,\s]+/g) ?? [];
    return names.map((name) => name.slice(4)).filter((name) => /^[a-z0-9.-]+$/i.test(name));
  }

  /** Throws CertificateError, and keeps the present pair. */
  replace(pair: KeyPair): void {
    this.#leaf = check(pair);
    this.#pair = pair;
    for (const listener of this.#listeners) listener(pair);
  }

  /** Calls the listener for every later pair; the returned function removes it. */
  onReplace(listener: (pair: KeyPair) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

function check({ cert, key }: KeyPair): X509Certificate {
  const leaf = attempt('the certificate cannot be read: it is not in PEM form', () => new X509Certificate(cert));
  const secret = attempt('the key cannot be read: it is not in PEM form, or it is encrypted', () =>
    createPrivateKey(key),
  );
  if (!leaf.checkPrivateKey(secret)) throw new CertificateError('the key does not belong to the certificate');
  attempt('the certificate and its key cannot be used together', () => createSecureContext({ cert, key }));
  return leaf;
}

function attempt<T>(failure: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new CertificateError(failure, { cause: error });
  }
}
