import { storedLength, type Change } from '#pkg/storage/index';

export interface ChangeRingLimits {
  /** Bodies, managed fields and computed keys, old and new, in UTF-16 code units. */
  size: number;
  count: number;
}

/** The newest changes, kept in memory so that a watch with a short interruption needs no query. */
export class ChangeRing {
  readonly #limits: ChangeRingLimits;
  #changes: Change[] = [];
  #first = 0;
  #size = 0;
  #from: number;

  /** @param from Every change after this revision will be pushed. */
  constructor(from: number, limits: ChangeRingLimits) {
    this.#from = from;
    this.#limits = limits;
  }

  /** The ring has every change after this revision. */
  get oldest(): number {
    return this.#from;
  }

  push(change: Change): void {
    this.#changes.push(change);
    this.#size += sizeOf(change);
    while (this.#changes.length - this.#first > this.#limits.count || this.#size > this.#limits.size)
      this.#dropOldest();
    // Shifting one by one would move the whole array each time.
    if (this.#first > 1024 && this.#first * 2 > this.#changes.length) {
      this.#changes = this.#changes.slice(this.#first);
      this.#first = 0;
    }
  }

  /** The changes of one model after a revision, or undefined if the ring has dropped some of them. */
  after(revision: number, modelId: number): Change[] | undefined {
    if (revision < this.#from) return undefined;
    return this.#changes.slice(this.#indexAfter(revision)).filter((change) => change.modelId === modelId);
  }

  #dropOldest(): void {
    const oldest = this.#changes[this.#first]!;
    this.#first += 1;
    this.#size -= sizeOf(oldest);
    this.#from = oldest.revision;
  }

  #indexAfter(revision: number): number {
    let low = this.#first;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#changes[middle]!.revision > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Characters of bodies, managed fields and computed keys, both old and new. */
export function sizeOf({ old, ...change }: Change): number {
  return sizeOfState(change) + (old === undefined ? 0 : sizeOfState(old));
}

function sizeOfState({ body, managed, keys = '' }: Pick<Change, 'body' | 'managed' | 'keys'>): number {
  return storedLength({ body, managed }) + keys.length;
}
