/**
 * Random numbers from a seed, so that a run can be repeated. Each part of a run uses its own `fork`, so that parts do
 * not affect each other.
 *
 * Source: sfc32 of PractRand; the seed's text is hashed by FNV-1a with a finalizer.
 */
export class SeededRandom {
  readonly #seed: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: string | number) {
    this.#seed = String(seed);
    this.#a = hash(this.#seed, 0x811c9dc5);
    this.#b = hash(this.#seed, 0x01000193);
    this.#c = hash(this.#seed, 0x9e3779b9);
    for (let i = 0; i < 12; i += 1) this.#next();
  }

  /** A separate generator, determined by this one's seed and the label. */
  fork(label: string): SeededRandom {
    return new SeededRandom(`${this.#seed}/${label}`);
  }

  /** From 0 to below 1. */
  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.fraction() * end);
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  floatBetween(low: number, high: number): number {
    return low + this.fraction() * (high - low);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** A name, with probability by weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let left = this.fraction() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return entries[0]![0];
  }

  /** Calls one of the functions. */
  one<T>(...makers: readonly (() => T)[]): T {
    return this.pick(makers)();
  }

  /** At most `most` items. */
  some<T>(most: number, make: (index: number) => T): T[] {
    return Array.from({ length: this.below(most + 1) }, (_, index) => make(index));
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items];
    for (let i = left.length - 1; i > 0; i -= 1) {
      const j = this.below(i + 1);
      [left[i], left[j]] = [left[j]!, left[i]!];
    }
    return left;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }
}

function hash(text: string, start: number): number {
  let value = start;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return value ^ (value >>> 13);
}
