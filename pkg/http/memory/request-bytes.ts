import { abortError, newTooManyRequests } from '#pkg/apimachinery/index';
import { anonymousUser } from '#pkg/identity/index';
import { networkOf } from '../connection/network-of.ts';
import { unparsedBytes, parsedBytesOf, type ByteBudget } from './byte-budget.ts';
import type { BytePool, Reservation } from './byte-pool.ts';

/** What is to be known of the request. */
export interface AskingRequest {
  readonly user: { readonly name: string };
  /** The client's, as a trusted proxy says. */
  readonly clientAddress: string;
  readonly signal: AbortSignal;
  /** Time spent waiting is added. */
  waitedMs: number;
}

export type BytesRefusedBy = 'bytes' | 'user_bytes';

/** Hears what a budget of bytes does; must not throw. */
export interface BytesObserver {
  refused(by: BytesRefusedBy): void;
  waited(ms: number): void;
}

export interface ParseOptions {
  /** Besides what the request has parsed already. Default false. */
  extra?: boolean;
  /** Waits as long as the request may: it has begun what must not be left half done. Default false. */
  isPatient?: boolean;
}

/**
 * What one request takes of the process's memory, from its body to its answer. Amounts are the most that it has at one
 * time, not sums.
 */
export interface RequestBytes {
  /** Whose share it takes: a user's, or of who is not known a network's. */
  readonly owner: string;
  /** So many it has now, of those that are counted. */
  readonly held: number;
  /**
   * Resolves when there is room for so many bytes in all. @throws StatusError 429 where there is none in time, and what
   * the signal aborted with.
   */
  admit(bytes: number): Promise<void>;
  /** Counts so many bytes in all where there is room for them at once; answers whether there is. */
  admitNow(bytes: number): boolean;
  /** Counts so many bytes in all, which are there already. */
  note(bytes: number): void;
  /** Holds no more than these from now on. */
  lower(bytes: number): void;
  /**
   * Resolves when a text of so many bytes may be parsed, with what ends it; the end of the request does, too. @throws
   * as `admit` does
   */
  parse(bytes: number, options?: ParseOptions): Promise<() => void>;
}

export class CountedRequestBytes implements RequestBytes {
  readonly #budget: ByteBudget;
  readonly #context: AskingRequest;
  readonly #observer: BytesObserver | undefined;
  readonly #moved: Reservation;
  readonly #parsed: Reservation;
  #isOver = false;

  /** To be made when its user is known. */
  constructor(budget: ByteBudget, context: AskingRequest, observer?: BytesObserver) {
    this.#budget = budget;
    this.#context = context;
    this.#observer = observer;
    const owner = ownerOf(context);
    this.#moved = { owner, bytes: 0 };
    this.#parsed = { owner, bytes: 0 };
  }

  get owner(): string {
    return this.#moved.owner;
  }

  get held(): number {
    return this.#moved.bytes;
  }

  async admit(bytes: number): Promise<void> {
    const { moved, maxWaitMs } = this.#budget;
    const more = bytes - this.#moved.bytes;
    if (more <= 0 || this.#isOver) return;
    const { signal } = this.#context;
    // One that holds a body already might wait for others who wait for it.
    const overdraws = this.#moved.bytes > 0;
    const turn = moved.take(this.#moved, more, {
      overdraws,
      maxWaitMs: Math.max(0, maxWaitMs - this.#context.waitedMs),
      signal,
    });
    if (typeof turn === 'boolean' ? turn : await this.#waitFor(turn)) return this.#giveIfOver();
    throw this.#refusal(moved, more);
  }

  admitNow(bytes: number): boolean {
    const more = bytes - this.#moved.bytes;
    return more <= 0 || this.#isOver || this.#budget.moved.takeNow(this.#moved, more);
  }

  note(bytes: number): void {
    if (bytes > this.#moved.bytes && !this.#isOver) this.#budget.moved.add(this.#moved, bytes - this.#moved.bytes);
  }

  lower(bytes: number): void {
    this.#budget.moved.give(this.#moved, Math.max(0, this.#moved.bytes - bytes));
  }

  async parse(bytes: number, { extra = false, isPatient = false }: ParseOptions = {}): Promise<() => void> {
    if (bytes <= unparsedBytes || this.#isOver) return nothing;
    const { parsed, maxWaitMs } = this.#budget;
    const { signal } = this.#context;
    const reservation: Reservation = extra ? { owner: this.#parsed.owner, bytes: 0 } : this.#parsed;
    const more = parsedBytesOf(bytes) - reservation.bytes;
    if (more <= 0) return nothing;
    const turn = parsed.take(reservation, more, { overdraws: extra, signal, ...(isPatient ? {} : { maxWaitMs }) });
    if (!(typeof turn === 'boolean' ? turn : await this.#waitFor(turn))) throw this.#refusal(parsed, more);
    const end = (): void => parsed.give(reservation, reservation.bytes);
    if (this.#isOver) end();
    return end;
  }

  /** The handler is done: nothing parsed is needed any more. */
  endParsing(): void {
    this.#budget.parsed.give(this.#parsed, this.#parsed.bytes);
  }

  /** The answer is sent, or nobody waits for it. */
  end(): void {
    this.#isOver = true;
    this.endParsing();
    this.lower(0);
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
    const isShare = pool.isShareOf(this.#moved.owner, bytes);
    this.#observer?.refused(isShare ? 'user_bytes' : 'bytes');
    return newTooManyRequests(
      isShare
        ? 'the requests of one user under way are too large together, please try again later'
        : 'the requests under way are too large together, please try again later',
    );
  }

  /** Its end may have come in the turn in which the wait was over. */
  #giveIfOver(): void {
    if (this.#isOver) this.lower(0);
  }
}

/** Where there is no budget. */
export const uncounted: RequestBytes = {
  owner: '',
  held: 0,
  admit: () => Promise.resolve(),
  admitNow: () => true,
  note: nothing,
  lower: nothing,
  parse: () => Promise.resolve(nothing),
};

function nothing(): void {}

function ownerOf({ user, clientAddress }: AskingRequest): string {
  return user.name === anonymousUser.name ? `address:${networkOf(clientAddress)}` : `user:${user.name}`;
}
