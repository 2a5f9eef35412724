import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** A certificate, those that lead to its authority after it, and its key; PEM. */
export interface KeyPair {
  cert: string;
  key: string;
}

/** A pair that no listener can use; the message is a sentence's end, and never repeats the key. */
export class CertificateError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CertificateError';
  }
}

/** What listeners speak TLS with. It may be replaced while they listen: connections that are open stay as they are. */
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

  /** The DNS names it is for, wildcards left out. */
  get dnsNames(): string[] {
    const names = this.#leaf.subjectAltName?.match(/DNS:[^,\s]+/g) ?? [];
    return names.map((name) => name.slice(4)).filter((name) => /^[a-z0-9.-]+$/i.test(name));
  }

  /** Throws CertificateError, and goes on with the one it has. */
  replace(pair: KeyPair): void {
    this.#leaf = check(pair);
    this.#pair = pair;
    for (const listener of this.#listeners) listener(pair);
  }

  /** Tells of every later pair; the answer ends that. */
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
  if (!leaf.checkPrivateKey(secret)) throw new CertificateError('the key is not the key of the certificate');
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
