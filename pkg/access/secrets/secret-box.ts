import type { KeyRing } from './key-ring.ts';
import { SecretError } from './secret-error.ts';
import { sealedBy } from './secret-key.ts';

/**
 * Seals secrets that must be readable again: with the primary key; any key can open them. A purpose names the only
 * place of the sealed bytes (`access-keys/<id>`): they cannot be opened anywhere else. For lookups by secret there is a
 * keyed hash.
 *
 * The database stores the sealed bytes, and refuses those of an unregistered key (`openKeyRing`).
 */
export class SecretBox {
  readonly #ring: KeyRing;

  constructor(ring: KeyRing) {
    this.#ring = ring;
  }

  seal(text: string, purpose: string): Buffer {
    // A rotation may be dropping the previous primary key.
    this.#ring.refresh();
    return this.#ring.primary.seal(text, purpose);
  }

  /**
   * @throws SecretError: `unknown-key` if no key has its id, `unreadable` if it was changed or sealed for another
   * purpose
   */
  open(sealed: Buffer, purpose: string): string {
    const id = sealedBy(sealed);
    if (id === undefined) throw new SecretError('unreadable', 'A secret cannot be opened: it is malformed.');
    const key = this.#ring.find(id) ?? (this.#ring.refresh() ? this.#ring.find(id) : undefined);
    if (key === undefined)
      throw new SecretError(
        'unknown-key',
        `A secret cannot be opened: it was sealed with the key ${id}, which is missing.`,
      );
    return key.open(sealed, purpose);
  }

  /** A keyed hash for another server with the same keys; `lookups` has the ones to compare it with. */
  sign(text: string, purpose: string): Buffer {
    this.#ring.refresh();
    return this.#ring.primary.hash(text, purpose);
  }

  /** The hash to store, with the key of the last `seal`; call it after `seal`, synchronously. */
  lookup(text: string, purpose: string): Buffer {
    return this.#ring.primary.hash(text, purpose);
  }

  /** The hashes to search for, one per key. */
  lookups(text: string, purpose: string): Buffer[] {
    return this.#ring.keys.map((key) => key.hash(text, purpose));
  }

  /**
   * Hashes to search for if those of `lookups` were not found: of keys added since, which another process may have
   * used; usually none.
   */
  newLookups(text: string, purpose: string, tried: readonly Buffer[]): Buffer[] {
    this.#ring.refresh();
    return this.lookups(text, purpose).filter((hash) => !tried.some((each) => each.equals(hash)));
  }
}
