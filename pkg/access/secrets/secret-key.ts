import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { SecretError } from './secret-error.ts';

const formatVersion = 1;
const idBytes = 6;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + idBytes + nonceBytes;

/**
 * A 256-bit key for AES-256-GCM and HMAC-SHA256, each with its own subkey (HKDF, RFC 5869).
 *
 * Sealed format: one byte 1, the key's id (6 bytes), a random nonce (12), the ciphertext, the tag (16). The purpose is
 * authenticated too, so that a secret sealed for one row cannot be opened in another. Random nonces are safe for 2^32
 * seals with one key (NIST SP 800-38D).
 */
export class SecretKey {
  /** 12 hexadecimal digits; reveals nothing about the key. */
  readonly id: string;
  // Private to the engine too: an inspected or logged key shows nothing.
  readonly #bytes: Buffer;
  readonly #sealing: Buffer;
  readonly #hashing: Buffer;

  private constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#sealing = derive(bytes, 'svc seal', 32);
    this.#hashing = derive(bytes, 'svc hash', 32);
    this.id = derive(bytes, 'svc key id', idBytes).toString('hex');
  }

  static generate(): SecretKey {
    return new SecretKey(randomBytes(32));
  }

  /** Undefined unless the text has 64 hexadecimal digits: `openssl rand -hex 32`. */
  static parse(text: string): SecretKey | undefined {
    return /^[0-9a-fA-F]{64}$/.test(text) ? new SecretKey(Buffer.from(text, 'hex')) : undefined;
  }

  /** The key itself, as `parse` takes it: for the key file and nothing else. */
  reveal(): string {
    return this.#bytes.toString('hex');
  }

  /** The text must be well-formed; half a surrogate pair would come back as U+FFFD. */
  seal(text: string, purpose: string): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#sealing, nonce, { authTagLength: tagBytes }).setAAD(
      Buffer.from(purpose),
    );
    const head = Buffer.concat([Buffer.of(formatVersion), Buffer.from(this.id, 'hex'), nonce]);
    return Buffer.concat([head, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  }

  /** @throws SecretError for anything but what this key sealed for this purpose */
  open(sealed: Buffer, purpose: string): string {
    if (sealedBy(sealed) !== this.id) throw unreadable();
    const nonce = sealed.subarray(1 + idBytes, headBytes);
    const decipher = createDecipheriv('aes-256-gcm', this.#sealing, nonce, { authTagLength: tagBytes })
      .setAAD(Buffer.from(purpose))
      .setAuthTag(sealed.subarray(-tagBytes));
    try {
      return Buffer.concat([decipher.update(sealed.subarray(headBytes, -tagBytes)), decipher.final()]).toString('utf8');
    } catch {
      // Node's error has no useful details.
      throw unreadable();
    }
  }

  /** Keyed hash, 32 bytes. A purpose has no U+0000 in it. */
  hash(text: string, purpose: string): Buffer {
    return createHmac('sha256', this.#hashing).update(`${purpose}\0${text}`).digest();
  }
}

/** Id of the sealing key; undefined if the bytes are no sealed secret. SQL reads it too: `sealed-tables.ts`. */
export function sealedBy(sealed: Buffer): string | undefined {
  if (sealed.length < headBytes + tagBytes || sealed[0] !== formatVersion) return undefined;
  return sealed.toString('hex', 1, 1 + idBytes);
}

function derive(key: Buffer, info: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', info, length));
}

function unreadable(): SecretError {
  return new SecretError('unreadable', 'A secret cannot be opened: it was changed, or sealed for something else.');
}
