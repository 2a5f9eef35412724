import type { ServerResponse } from 'node:http';
import type { StatusError } from '#pkg/apimachinery/index';
import { networkOf } from '../connection/network-of.ts';
import type { BodyTurn, RequestContext, Sender } from '../request/request-context.ts';
import type { SlotLimiter } from './keyed-concurrency-limiters.ts';
import type { RefusedBy } from './limit-refusal.ts';
import type { Senders } from './senders.ts';

/** Whose the slots are. */
export interface SlotsOwner {
  readonly senders: Senders;
  /** A wait is over, be it for a slot or in vain. */
  waited(ms: number): void;
  /** Of a request whose body has come, and which finds no slot again. */
  refusalOf(by: RefusedBy, context: RequestContext): StatusError;
}

export interface Slot {
  readonly limiter: SlotLimiter;
  /** The limit that it is of. */
  readonly by: RefusedBy;
  /** Also while the body arrives. */
  readonly isKept?: boolean;
  /** Of its user or network alone: also while the answer is read, and after the end of the work until it is sent. */
  readonly isOwn?: boolean;
}

/**
 * The slots one request holds; while others are waited for, to send a body or to read an answer, those alone that
 * count who they are.
 */
export class HeldSlots implements BodyTurn {
  /** Of an anonymous client the body counts by address. */
  isAnonymous = true;
  private readonly context: RequestContext;
  private readonly owner: SlotsOwner;
  private held: Slot[] = [];
  private isOver = false;

  constructor(context: RequestContext, owner: SlotsOwner) {
    this.context = context;
    this.owner = owner;
  }

  /** False where there was no room in time. */
  enter(slot: Slot): boolean | Promise<boolean> {
    return this.hold(slot, slot.limiter.enter(this.context.response, this.context.waitedMs));
  }

  /** Of a request that goes on: for other slots. */
  leave(): void {
    for (const { limiter } of this.held.splice(0)) limiter.leave();
  }

  /** For good. */
  release(): void {
    this.isOver = true;
    this.leave();
  }

  /**
   * The work is done. An answer that waits to be sent keeps the slots of its user or network, which alone bound how
   * many there are, unless the budget counts its bytes.
   */
  end(): void {
    const { response, bytes } = this.context;
    // Of a counted answer all is counted but its head.
    if (isSent(response) || (bytes.held > 0 && 2 * bytes.held >= response.writableLength)) return this.release();
    this.isOver = true;
    this.leaveUnless(({ isOwn }) => isOwn === true);
    if (this.held.length > 0) response.once('close', () => this.leave());
  }

  async whileBodyArrives<T>(arrive: (sender: Sender) => Promise<T>): Promise<T> {
    const sender = this.owner.senders.add(this.isAnonymous ? networkOf(this.context.clientAddress) : undefined);
    const left = this.leaveUnless(({ isKept }) => isKept === true);
    let body: T;
    try {
      body = await arrive(sender);
    } finally {
      sender.end();
    }
    for (const slot of left) {
      if (!(await this.reenter(slot))) throw this.owner.refusalOf(slot.by, this.context);
    }
    return body;
  }

  async whileAnswerIsRead(read: Promise<void>): Promise<void> {
    const left = this.leaveUnless(({ isOwn }) => isOwn === true);
    await read;
    for (const slot of left) await this.reenter(slot);
  }

  private leaveUnless(isKept: (slot: Slot) => boolean): Slot[] {
    const left = this.held.filter((slot) => !isKept(slot));
    this.held = this.held.filter(isKept);
    for (const { limiter } of left) limiter.leave();
    return left;
  }

  private reenter(slot: Slot): boolean | Promise<boolean> {
    return this.hold(slot, slot.limiter.reenter(this.context.response));
  }

  private hold(slot: Slot, isIn: boolean | Promise<boolean>): boolean | Promise<boolean> {
    if (isIn === false) return false;
    if (isIn !== true) return this.wait(slot, isIn);
    if (this.isOver) slot.limiter.leave();
    else this.held.push(slot);
    return true;
  }

  private async wait(slot: Slot, turn: Promise<boolean>): Promise<boolean> {
    const start = performance.now();
    const isIn = await turn;
    const ms = performance.now() - start;
    this.context.waitedMs += ms;
    this.owner.waited(ms);
    return this.hold(slot, isIn);
  }
}

/** Is nothing of the answer left to be sent, or nobody to send it to? */
function isSent(response: ServerResponse): boolean {
  return response.destroyed || (response.writableEnded && response.writableLength === 0);
}
