/** The bytes of a pool that one request holds. */
export interface Reservation {
  /** The owner whose share it counts against. */
  readonly owner: string;
  bytes: number;
}

export interface TakeOptions {
  /**
   * If nothing is free, one reservation at a time may exceed the pool, so that requests that hold bytes and wait for
   * more can end. Default false.
   */
  overdraws?: boolean;
  /** Milliseconds; default: no limit. */
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
 * A pool of bytes that requests share. An owner may hold at most `perOwner`, and never more than remains free for all
 * others, so that a new owner finds room. Of the waiting owners, the one that holds least is next. A reservation larger
 * than that gets the pool to itself.
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

  /** Whether the owner's share is used up, rather than the pool. */
  isShareOf(owner: string, bytes: number): boolean {
    return this.#used + bytes <= this.total && this.#heldBy(owner) > 0;
  }

  /**
   * True if the reservation has the bytes, else false or a promise: false after `maxWaitMs`, or when the signal aborts.
   */
  take(
    reservation: Reservation,
    bytes: number,
    { overdraws = false, maxWaitMs, signal }: TakeOptions = {},
  ): boolean | Promise<boolean> {
    // Only the overdrawn reservation overtakes those that wait: they wait for its end.
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

  /**
   * Takes the bytes now, ahead of waiting reservations, or not at all: a caller that fails frees other bytes instead.
   */
  tryTake(reservation: Reservation, bytes: number): boolean {
    if (!this.#fits(reservation, bytes)) return false;
    this.add(reservation, bytes);
    return true;
  }

  /** Counts bytes that are already in memory, even above the total; others wait until there is room again. */
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

  /** Returns whether a waiting reservation got its bytes. */
  #admitNext(): boolean {
    let isReserved = false;
    for (const one of this.#inTurn()) {
      if (isReserved && !one.overdraws) continue;
      if (this.#mayTake(one.reservation, one.bytes, one.overdraws)) {
        this.#grant(one.reservation, one.bytes);
        one.settle(true);
        return true;
      }
      // Free bytes are kept until they suffice for this one: otherwise others would take them again and again.
      isReserved ||= !one.overdraws && this.#heldBy(one.reservation.owner) === 0;
    }
    return false;
  }

  /**
   * The first waiting reservation of each owner, those with and without overdraft apart; the owner that holds least
   * first.
   */
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
