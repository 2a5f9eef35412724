interface Entry {
  key: string;
  at: number;
}

/** Keys by due time, each once: the earlier of two times counts. */
export class DelayHeap {
  readonly #heap: Entry[] = [];
  readonly #places = new Map<string, number>();

  get size(): number {
    return this.#heap.length;
  }

  /** When the next key is due; undefined if none waits. */
  get next(): number | undefined {
    return this.#heap[0]?.at;
  }

  add(key: string, at: number): void {
    const place = this.#places.get(key);
    if (place === undefined) {
      this.#put({ key, at }, this.#heap.length);
      this.#rise(this.#heap.length - 1);
    } else if (at < this.#heap[place]!.at) {
      this.#heap[place]!.at = at;
      this.#rise(place);
    }
  }

  /** Removes and returns the next due key; undefined if none is due. */
  takeDue(now: number): string | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.at > now) return undefined;
    const last = this.#heap.pop()!;
    this.#places.delete(first.key);
    if (this.#heap.length > 0) {
      this.#put(last, 0);
      this.#sink(0);
    }
    return first.key;
  }

  clear(): void {
    this.#heap.length = 0;
    this.#places.clear();
  }

  #put(entry: Entry, place: number): void {
    this.#heap[place] = entry;
    this.#places.set(entry.key, place);
  }

  #rise(place: number): void {
    const entry = this.#heap[place]!;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (this.#heap[parent]!.at <= entry.at) break;
      this.#put(this.#heap[parent]!, place);
      place = parent;
    }
    this.#put(entry, place);
  }

  #sink(place: number): void {
    const entry = this.#heap[place]!;
    for (;;) {
      const left = 2 * place + 1;
      if (left >= this.#heap.length) break;
      const right = left + 1;
      const child = right < this.#heap.length && this.#heap[right]!.at < this.#heap[left]!.at ? right : left;
      if (this.#heap[child]!.at >= entry.at) break;
      this.#put(this.#heap[child]!, place);
      place = child;
    }
    this.#put(entry, place);
  }
}
