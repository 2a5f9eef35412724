import type { KeyRing } from './key-ring.ts';
import { SecretError } from './secret-error.ts';
import { sealedBy } from './secret-key.ts';

/**
 * Keeps secrets that must be readable again: sealed under the primary key, opened under any. A purpose names the one
 * place where the sealed bytes belong (`access-keys/<id>`): moved elsewhere they do not open. Where a secret is also
 * looked up, by a keyed hash.
 *
 * The database holds what comes out, and refuses what is sealed under a key that it was not told of (`openKeyRing`).
 */
export class SecretBox {
  readonly #ring: KeyRing;

  constructor(ring: KeyRing) {
    this.#ring = ring;
  }

  seal(text: string, purpose: string): Buffer {
    // Somebody may be dropping the key that was the primary one.
    this.#ring.refresh();
    return this.#ring.primary.seal(text, purpose);
  }

  /**
   * @throws SecretError: `unknown-key` where no key has its id, `unreadable` where it was changed or sealed for another
   * purpose
   */
  open(sealed: Buffer, purpose: string): string {
    const id = sealedBy(sealed);
    if (id === undefined)
      throw new SecretError('unreadable', 'A secret cannot be opened: these are not the bytes of one.');
    const key = this.#ring.find(id) ?? (this.#ring.refresh() ? this.#ring.find(id) : undefined);
    if (key === undefined)
      throw new SecretError(
        'unknown-key',
        `A secret cannot be opened: it was sealed with the key ${id}, which is not here.`,
      );
    return key.open(sealed, purpose);
  }

  /** The hash to store, of the key with which the last `seal` was made; to be called after it, in the same turn. */
  lookup(text: string, purpose: string): Buffer {
    return this.#ring.primary.hash(text, purpose);
  }

  /** The hashes to look for, one for each key. */
  lookups(text: string, purpose: string): Buffer[] {
    return this.#ring.keys.map((key) => key.hash(text, purpose));
  }

  /**
   * To look for after those of `lookups` were not found: hashes of keys that have come since, which another process may
   * have sealed with; mostly none.
   */
  newLookups(text: string, purpose: string, tried: readonly Buffer[]): Buffer[] {
    this.#ring.refresh();
    return this.lookups(text, purpose).filter((hash) => !tried.some((each) => each.equals(hash)));
  }
}
