import { SeededRandom } from './seeded-random.ts';

/**
 * Decides by a seed which faults happen. The nth decision for a label depends only on the seed, the label and n, so a
 * run can be repeated even if its calls come in another order.
 */
export class SeededFaults {
  readonly #seed: number;
  readonly #asked = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** The random source of the next decision for this label. */
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
