/** What one request holds of a pool. */
export interface Reservation {
  /** Whose share it counts towards. */
  readonly owner: string;
  bytes: number;
}

export interface TakeOptions {
  /**
   * Where nothing is free, one reservation at a time may hold more than there is, so that whoever holds something and waits
   * for more comes to their end. Default false.
   */
  overdraws?: boolean;
  /** Milliseconds; default for ever. */
  maxWaitMs?: number;
  signal?: AbortSignal;
}

interface Waiting {
  reservation: Reservation;
  bytes: number;
  overdraws: boolean;
  settle(isTaken: boolean): void;
}

/**
 * A number of bytes that requests share. No owner takes more than `perOwner`, nor more than then stays free for all
 * others, so that whoever comes next finds room; of those who wait the owner who holds least is next. One reservation larger
 * than that has the pool to itself.
 */
export class BytePool {
  readonly total: number;
  readonly #perOwner: number;
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #used = 0;
  #overdrawn: Reservation | undefined;

  constructor({ total, perOwner = total }: { total: number; perOwner?: number }) {
    this.total = total;
    this.#perOwner = Math.min(perOwner, total);
  }

  get used(): number {
    return this.#used;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Is it the owner's share that is used up, not the whole? */
  isShareOf(owner: string, bytes: number): boolean {
    return this.#used + bytes <= this.total && this.#heldBy(owner) > 0;
  }

  /**
   * True: the reservation has them. A promise says whether it got them; false after `maxWaitMs`, and when the signal aborts.
   */
  take(
    reservation: Reservation,
    bytes: number,
    { overdraws = false, maxWaitMs, signal }: TakeOptions = {},
  ): boolean | Promise<boolean> {
    // Whoever waits is not overtaken, but by the one that has more than there is: all wait for its end.
    if ((this.#waiting.size === 0 || this.#overdrawn === reservation) && this.#mayTake(reservation, bytes, overdraws)) {
      this.#grant(reservation, bytes);
      return true;
    }
    if (signal?.aborted === true) return false;
    return new Promise((resolve) => {
      const settle = (isTaken: boolean): void => {
        if (!this.#waiting.delete(one)) return;
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        resolve(isTaken);
      };
      const one: Waiting = { reservation, bytes, overdraws, settle };
      const onAbort = (): void => settle(false);
      const timer = maxWaitMs === undefined ? undefined : setTimeout(onAbort, maxWaitMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(one);
      this.#admitWaiting();
      if (maxWaitMs === 0) settle(false);
    });
  }

  /** At once or not at all, before those who wait: whoever asks has something to let go otherwise. */
  takeNow(reservation: Reservation, bytes: number): boolean {
    if (!this.#fits(reservation, bytes)) return false;
    this.add(reservation, bytes);
    return true;
  }

  /** Takes what is in memory already, whether there is room or not: others wait until there is again. */
  add(reservation: Reservation, bytes: number): void {
    reservation.bytes += bytes;
    this.#used += bytes;
    this.#held.set(reservation.owner, this.#heldBy(reservation.owner) + bytes);
  }

  give(reservation: Reservation, bytes: number): void {
    if (bytes === 0) return;
    reservation.bytes -= bytes;
    this.#used -= bytes;
    const left = this.#heldBy(reservation.owner) - bytes;
    if (left === 0) this.#held.delete(reservation.owner);
    else this.#held.set(reservation.owner, left);
    if (this.#overdrawn === reservation) this.#overdrawn = undefined;
    this.#admitWaiting();
  }

  #heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  #fits({ owner }: Reservation, bytes: number): boolean {
    if (this.#used === 0) return true;
    const held = this.#heldBy(owner);
    const free = this.total - this.#used - bytes;
    return held === 0 ? free >= 0 : held + bytes <= Math.min(this.#perOwner, free);
  }

  #mayTake(reservation: Reservation, bytes: number, overdraws: boolean): boolean {
    return this.#fits(reservation, bytes) || (overdraws && (this.#overdrawn ?? reservation) === reservation);
  }

  #grant(reservation: Reservation, bytes: number): void {
    if (!this.#fits(reservation, bytes)) this.#overdrawn = reservation;
    this.add(reservation, bytes);
  }

  #admitWaiting(): void {
    while (this.#waiting.size > 0 && this.#admitNext());
  }

  /** Answers whether somebody got what they wait for. */
  #admitNext(): boolean {
    let isKept = false;
    for (const one of this.#inTurn()) {
      if (isKept && !one.overdraws) continue;
      if (this.#mayTake(one.reservation, one.bytes, one.overdraws)) {
        this.#grant(one.reservation, one.bytes);
        one.settle(true);
        return true;
      }
      // What is free is kept until it is enough for this one: others would take it again and again.
      isKept ||= !one.overdraws && this.#heldBy(one.reservation.owner) === 0;
    }
    return false;
  }

  /** The first of each owner, of those who hold something already and of the others: whoever holds least first. */
  #inTurn(): Waiting[] {
    const first = new Map<string, Waiting>();
    for (const one of this.#waiting) {
      const key = `${one.overdraws ? 1 : 0}${one.reservation.owner}`;
      if (!first.has(key)) first.set(key, one);
    }
    const rank = ({ reservation, overdraws }: Waiting): number =>
      this.#heldBy(reservation.owner) - (overdraws ? 0.5 : 0);
    return [...first.values()].toSorted((a, b) => rank(a) - rank(b));
  }
}
