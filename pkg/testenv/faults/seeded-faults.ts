import { SeededRandom } from './seeded-random.ts';

/**
 * Decides what happens to each call, by the seed: the nth question of one label has one answer, whatever was asked of
 * other labels in between. So a run can be repeated though its calls come in another order.
 */
export class SeededFaults {
  readonly #seed: number;
  readonly #asked = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Chance for this one question. */
  of(label: string): SeededRandom {
    const asked = this.#asked.get(label) ?? 0;
    this.#asked.set(label, asked + 1);
    return new SeededRandom(hash(`${this.#seed} ${label} ${asked}`));
  }
}

/** Source: FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
