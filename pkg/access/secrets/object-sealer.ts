import { newServiceUnavailable, StatusError } from '#pkg/apimachinery/index';
import type { KeyRing } from './key-ring.ts';
import { SecretBox } from './secret-box.ts';
import { SecretError, SecretKeyError } from './secret-error.ts';
import { sealedBy, type SecretKey } from './secret-key.ts';

/** The purposes of objects begin with this, so that no row of access management has the same one. */
const purposePrefix = 'objects/';

/**
 * Seals objects of the content platform with the keys of access management. Sealed texts are base64. Every failure is a
 * StatusError.
 */
export class ObjectSealer {
  readonly #ring: KeyRing;
  readonly #box: SecretBox;
  /** All keys that this process has had: texts in its memory outlive a rotation. */
  readonly #known = new Map<string, SecretKey>();

  constructor(ring: KeyRing) {
    this.#ring = ring;
    this.#box = new SecretBox(ring);
  }

  /** @throws StatusError 503 without a key */
  seal(text: string, purpose: string): string {
    try {
      this.#learnKeys();
      return this.#box.seal(text, purposePrefix + purpose).toString('base64');
    } catch (error) {
      throw translate(error);
    }
  }

  /** @throws StatusError 503 without the key that sealed it, 500 if it was changed or sealed for another purpose */
  open(sealed: string, purpose: string): string {
    this.#learnKeys();
    const bytes = Buffer.from(sealed, 'base64');
    try {
      const id = sealedBy(bytes);
      const key = id === undefined ? undefined : this.#known.get(id);
      return (key ?? this.#box).open(bytes, purposePrefix + purpose);
    } catch (error) {
      throw translate(error);
    }
  }

  /** Was it sealed with the key that `seal` uses now? */
  isCurrent(sealed: string): boolean {
    this.#ring.refresh();
    const [primary] = this.#ring.keys;
    return primary !== undefined && sealedBy(Buffer.from(sealed, 'base64')) === primary.id;
  }

  #learnKeys(): void {
    for (const key of this.#ring.keys) this.#known.set(key.id, key);
  }
}

function translate(error: unknown): unknown {
  if (error instanceof SecretKeyError || (error instanceof SecretError && error.reason === 'unknown-key'))
    return newServiceUnavailable(error.message);
  if (error instanceof SecretError) return new StatusError(500, 'InternalError', error.message, { cause: error });
  return error;
}
