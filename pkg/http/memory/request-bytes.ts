import { abortError, newTooManyRequests } from '#pkg/apimachinery/index';
import { anonymousUser } from '#pkg/identity/index';
import { networkOf } from '../connection/client-address.ts';
import { unparsedBytes, parsedBytesOf, type ByteBudget } from './byte-budget.ts';
import type { BytePool, Reservation } from './byte-pool.ts';

/** The part of the request context that is needed here. */
export interface ByteOwnerContext {
  readonly user: { readonly name: string };
  /** The client's address; behind a trusted proxy from its headers. */
  readonly clientAddress: string;
  readonly signal: AbortSignal;
  /** The time spent waiting is added. */
  waitedMs: number;
}

export type BytesRefusedBy = 'bytes' | 'user_bytes';

/** Called for what a byte budget does; must not throw. */
export interface BytesObserver {
  refused(by: BytesRefusedBy): void;
  waited(ms: number): void;
}

export interface ParseOptions {
  /** In addition to what the request has already parsed. Default false. */
  isAdditional?: boolean;
  /** Waits until the request ends: it has begun work that must not stay half done. Default false. */
  isPatient?: boolean;
}

/** The memory that one request uses, from its body to its answer. Amounts are the peak, not sums. */
export interface RequestBytes {
  /** The owner whose share it uses: the user, or the network of an anonymous client. */
  readonly owner: string;
  /** The counted bytes that it holds now. */
  readonly held: number;
  /**
   * Resolves when there is room for a total of `bytes`. @throws StatusError 429 if there is none in time, or the reason
   * of the signal
   */
  admit(bytes: number): Promise<void>;
  /** Counts a total of `bytes` if there is room now; returns whether there is. */
  tryAdmit(bytes: number): boolean;
  /** Counts a total of `bytes`, which are already in memory. */
  raiseTo(bytes: number): void;
  /** Lowers the total to at most `bytes`. */
  lowerTo(bytes: number): void;
  /**
   * Resolves when a text of `bytes` may be parsed, with a function that frees its memory; the end of the request frees
   * it, too. @throws as `admit` does
   */
  parse(bytes: number, options?: ParseOptions): Promise<() => void>;
  /** The memory of a part of the request, which adds to that of the request. The caller must end it. */
  part(): RequestBytes & { end(): void };
}

export class CountedRequestBytes implements RequestBytes {
  readonly #budget: ByteBudget;
  readonly #context: ByteOwnerContext;
  readonly #observer: BytesObserver | undefined;
  readonly #transfer: Reservation;
  readonly #parsed: Reservation;
  #isOver = false;

  /** Create it after authentication: the user must be known. */
  constructor(budget: ByteBudget, context: ByteOwnerContext, observer?: BytesObserver) {
    this.#budget = budget;
    this.#context = context;
    this.#observer = observer;
    const owner = ownerOf(context);
    this.#transfer = { owner, bytes: 0 };
    this.#parsed = { owner, bytes: 0 };
  }

  get owner(): string {
    return this.#transfer.owner;
  }

  get held(): number {
    return this.#transfer.bytes;
  }

  async admit(bytes: number): Promise<void> {
    const { transfer, maxWaitMs } = this.#budget;
    const more = bytes - this.#transfer.bytes;
    if (more <= 0 || this.#isOver) return;
    const { signal } = this.#context;
    // A request that already holds a body could wait for others that wait for it.
    const overdraws = this.#transfer.bytes > 0;
    const turn = transfer.take(this.#transfer, more, {
      overdraws,
      maxWaitMs: Math.max(0, maxWaitMs - this.#context.waitedMs),
      signal,
    });
    if (typeof turn === 'boolean' ? turn : await this.#waitFor(turn)) return this.#giveIfOver();
    throw this.#refusal(transfer, more);
  }

  tryAdmit(bytes: number): boolean {
    const more = bytes - this.#transfer.bytes;
    return more <= 0 || this.#isOver || this.#budget.transfer.tryTake(this.#transfer, more);
  }

  raiseTo(bytes: number): void {
    if (bytes > this.#transfer.bytes && !this.#isOver)
      this.#budget.transfer.add(this.#transfer, bytes - this.#transfer.bytes);
  }

  lowerTo(bytes: number): void {
    this.#budget.transfer.give(this.#transfer, Math.max(0, this.#transfer.bytes - bytes));
  }

  async parse(bytes: number, { isAdditional = false, isPatient = false }: ParseOptions = {}): Promise<() => void> {
    if (bytes <= unparsedBytes || this.#isOver) return nothing;
    const { parsed, maxWaitMs } = this.#budget;
    const { signal } = this.#context;
    const reservation: Reservation = isAdditional ? { owner: this.#parsed.owner, bytes: 0 } : this.#parsed;
    const more = parsedBytesOf(bytes) - reservation.bytes;
    if (more <= 0) return nothing;
    const turn = parsed.take(reservation, more, {
      overdraws: isAdditional,
      signal,
      ...(isPatient ? {} : { maxWaitMs }),
    });
    if (!(typeof turn === 'boolean' ? turn : await this.#waitFor(turn))) throw this.#refusal(parsed, more);
    const end = (): void => parsed.give(reservation, reservation.bytes);
    if (this.#isOver) end();
    return end;
  }

  part(): CountedRequestBytes {
    return new CountedRequestBytes(this.#budget, this.#context, this.#observer);
  }

  /** The handler has ended: parsed objects are no longer needed. */
  endParsing(): void {
    this.#budget.parsed.give(this.#parsed, this.#parsed.bytes);
  }

  /** The answer is sent, or the client is gone. */
  end(): void {
    this.#isOver = true;
    this.endParsing();
    this.lowerTo(0);
  }

  async #waitFor(turn: Promise<boolean>): Promise<boolean> {
    const start = performance.now();
    const isTaken = await turn;
    const ms = performance.now() - start;
    this.#context.waitedMs += ms;
    this.#observer?.waited(ms);
    return isTaken;
  }

  #refusal(pool: BytePool, bytes: number): Error {
    const { signal } = this.#context;
    if (signal.aborted) return abortError(signal);
    const isShare = pool.isShareOf(this.#transfer.owner, bytes);
    this.#observer?.refused(isShare ? 'user_bytes' : 'bytes');
    return newTooManyRequests(
      isShare
        ? 'the requests of one user under way are too large together, please try again later'
        : 'the requests under way are too large together, please try again later',
    );
  }

  /** The request may have ended in the same turn as the wait. */
  #giveIfOver(): void {
    if (this.#isOver) this.lowerTo(0);
  }
}

/** Used without a budget. */
export const uncounted: RequestBytes = {
  owner: '',
  held: 0,
  admit: () => Promise.resolve(),
  tryAdmit: () => true,
  raiseTo: nothing,
  lowerTo: nothing,
  parse: () => Promise.resolve(nothing),
  part: () => ({ ...uncounted, end: nothing }),
};

function nothing(): void {}

function ownerOf({ user, clientAddress }: ByteOwnerContext): string {
  return user.name === anonymousUser.name ? `address:${networkOf(clientAddress)}` : `user:${user.name}`;
}
