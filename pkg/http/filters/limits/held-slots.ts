import type { ServerResponse } from 'node:http';
import type { StatusError } from '#pkg/apimachinery/index';
import { networkOf } from '../../connection/client-address.ts';
import type { PausableSlots, RequestContext, Sender, WatchSlots } from '../../request/request-context.ts';
import type { SlotLimiter } from './concurrency-limiter.ts';
import type { RefusedBy } from './limit-refusal.ts';
import type { Senders } from './senders.ts';

/** The limits that a request's slots belong to. */
export interface SlotsOwner {
  readonly senders: Senders;
  /** A wait for a slot ended, with or without one. */
  waited(ms: number): void;
  /** The error for a request whose body has arrived and that did not get its slot back. */
  refusalOf(by: RefusedBy, context: RequestContext): StatusError;
  /** The slots of a watch that the answer of `context` carries. @throws StatusError 429 */
  slotsOfWatch(context: RequestContext, watch: RequestContext): Promise<WatchSlots>;
}

export interface Slot {
  readonly limiter: SlotLimiter;
  /** The flow that it waits in. Default: one for all. */
  readonly flow?: string;
  /** The limit that it counts against. */
  readonly by: RefusedBy;
  /** Whether it is held while the body arrives. */
  readonly isKept?: boolean;
  /**
   * Whether it belongs to one user or network. Such a slot is held while the client reads the response, and until the
   * response is sent.
   */
  readonly isOwn?: boolean;
}

/**
 * The slots that one request holds. While the server waits for the client, to send a body or to read a response, it
 * holds only the slots of the client's own user or network.
 */
export class HeldSlots implements PausableSlots {
  /** The body of an anonymous client is counted by address. */
  isAnonymous = true;
  readonly #context: RequestContext;
  readonly #owner: SlotsOwner;
  #held: Slot[] = [];
  #isOver = false;

  constructor(context: RequestContext, owner: SlotsOwner) {
    this.#context = context;
    this.#owner = owner;
  }

  /** False if there was no free slot in time. */
  enter(slot: Slot): boolean | Promise<boolean> {
    return this.#hold(slot, slot.limiter.enter(this.#context.response, this.#context.waitedMs, slot.flow));
  }

  /** Frees all slots of a request that goes on and takes other slots. */
  leave(): void {
    for (const { limiter } of this.#held.splice(0)) limiter.leave();
  }

  /** Frees all slots; the request takes no more. */
  release(): void {
    this.#isOver = true;
    this.leave();
  }

  /**
   * The work is done. A response that is not sent yet keeps the slots of its user or network: nothing else limits the
   * number of such responses, unless the memory budget counts their bytes.
   */
  end(): void {
    const { response, bytes } = this.#context;
    // The budget counts all bytes of a response but those of its head.
    if (isSent(response) || (bytes.held > 0 && 2 * bytes.held >= response.writableLength)) return this.release();
    this.#isOver = true;
    this.#leaveUnless(({ isOwn }) => isOwn === true);
    if (this.#held.length > 0) response.once('close', () => this.leave());
  }

  async whileBodyArrives<T>(arrive: (sender: Sender) => Promise<T>): Promise<T> {
    const sender = this.#owner.senders.add(this.isAnonymous ? networkOf(this.#context.clientAddress) : undefined);
    const left = this.#leaveUnless(({ isKept }) => isKept === true);
    let body: T;
    try {
      body = await arrive(sender);
    } finally {
      sender.end();
    }
    for (const slot of left) {
      if (!(await this.#reenter(slot))) throw this.#owner.refusalOf(slot.by, this.#context);
    }
    return body;
  }

  async whileAnswerIsRead(read: Promise<void>): Promise<void> {
    const left = this.#leaveUnless(({ isOwn }) => isOwn === true);
    await read;
    for (const slot of left) await this.#reenter(slot);
  }

  ofWatch(watch: RequestContext): Promise<WatchSlots> {
    return this.#owner.slotsOfWatch(this.#context, watch);
  }

  #leaveUnless(isKept: (slot: Slot) => boolean): Slot[] {
    const left = this.#held.filter((slot) => !isKept(slot));
    this.#held = this.#held.filter(isKept);
    for (const { limiter } of left) limiter.leave();
    return left;
  }

  #reenter(slot: Slot): boolean | Promise<boolean> {
    return this.#hold(slot, slot.limiter.reenter(this.#context.response, slot.flow));
  }

  #hold(slot: Slot, isIn: boolean | Promise<boolean>): boolean | Promise<boolean> {
    if (isIn === false) return false;
    if (isIn !== true) return this.#wait(slot, isIn);
    if (this.#isOver) slot.limiter.leave();
    else this.#held.push(slot);
    return true;
  }

  async #wait(slot: Slot, turn: Promise<boolean>): Promise<boolean> {
    const start = performance.now();
    const isIn = await turn;
    const ms = performance.now() - start;
    this.#context.waitedMs += ms;
    this.#owner.waited(ms);
    return this.#hold(slot, isIn);
  }
}

/** Whether the whole response is sent, or the client has disconnected. */
function isSent(response: ServerResponse): boolean {
  return response.destroyed || (response.writableEnded && response.writableLength === 0);
}
