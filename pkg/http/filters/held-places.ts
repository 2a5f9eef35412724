import type { ServerResponse } from 'node:http';
import type { StatusError } from '#pkg/apimachinery/index';
import { networkOf } from '../connection/network-of.ts';
import type { BodyTurn, RequestContext, Sender } from '../request/request-context.ts';
import type { Entrance } from './keyed-gates.ts';
import type { RefusedBy } from './refusal.ts';
import type { Senders } from './senders.ts';

/** Whose the places are. */
export interface PlacesOwner {
  readonly senders: Senders;
  /** A wait is over, be it for a place or in vain. */
  waited(ms: number): void;
  /** Of a request whose body has come, and which finds no place again. */
  refusalOf(by: RefusedBy, context: RequestContext): StatusError;
}

export interface Place {
  readonly entrance: Entrance;
  /** The limit that it is of. */
  readonly by: RefusedBy;
  /** Also while the body arrives. */
  readonly isKept?: boolean;
  /** Of its user or network alone: also while the answer is read, and after the end of the work until it is sent. */
  readonly isOwn?: boolean;
}

/**
 * The places one request holds; while others are waited for, to send a body or to read an answer, those alone that
 * count who they are.
 */
export class HeldPlaces implements BodyTurn {
  /** Of a stranger the body counts by address. */
  isOfStranger = true;
  private readonly context: RequestContext;
  private readonly owner: PlacesOwner;
  private held: Place[] = [];
  private isOver = false;

  constructor(context: RequestContext, owner: PlacesOwner) {
    this.context = context;
    this.owner = owner;
  }

  /** False where there was no room in time. */
  enter(place: Place): boolean | Promise<boolean> {
    return this.hold(place, place.entrance.enter(this.context.response, this.context.waitedMs));
  }

  /** Of a request that goes on: for other places. */
  leave(): void {
    for (const { entrance } of this.held.splice(0)) entrance.leave();
  }

  /** For good. */
  release(): void {
    this.isOver = true;
    this.leave();
  }

  /**
   * The work is done. An answer that waits to be sent keeps the places of its user or network, which alone bound how
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
    const sender = this.owner.senders.add(this.isOfStranger ? networkOf(this.context.clientAddress) : undefined);
    const left = this.leaveUnless(({ isKept }) => isKept === true);
    let body: T;
    try {
      body = await arrive(sender);
    } finally {
      sender.end();
    }
    for (const place of left) {
      if (!(await this.reenter(place))) throw this.owner.refusalOf(place.by, this.context);
    }
    return body;
  }

  async whileAnswerIsRead(read: Promise<void>): Promise<void> {
    const left = this.leaveUnless(({ isOwn }) => isOwn === true);
    await read;
    for (const place of left) await this.reenter(place);
  }

  private leaveUnless(isKept: (place: Place) => boolean): Place[] {
    const left = this.held.filter((place) => !isKept(place));
    this.held = this.held.filter(isKept);
    for (const { entrance } of left) entrance.leave();
    return left;
  }

  private reenter(place: Place): boolean | Promise<boolean> {
    return this.hold(place, place.entrance.reenter(this.context.response));
  }

  private hold(place: Place, isIn: boolean | Promise<boolean>): boolean | Promise<boolean> {
    if (isIn === false) return false;
    if (isIn !== true) return this.wait(place, isIn);
    if (this.isOver) place.entrance.leave();
    else this.held.push(place);
    return true;
  }

  private async wait(place: Place, turn: Promise<boolean>): Promise<boolean> {
    const start = performance.now();
    const isIn = await turn;
    const ms = performance.now() - start;
    this.context.waitedMs += ms;
    this.owner.waited(ms);
    return this.hold(place, isIn);
  }
}

/** Is nothing of the answer left to be sent, or nobody to send it to? */
function isSent(response: ServerResponse): boolean {
  return response.destroyed || (response.writableEnded && response.writableLength === 0);
}
