import type { StatusError } from '#pkg/apimachinery/index';
import { networkOf } from '../network-of.ts';
import type { BodyTurn, RequestContext, Sender } from '../request-context.ts';
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
}

/** The places one request holds; while its body arrives, those alone that count who sends. */
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

  /** For good. Idempotent. */
  release(): void {
    this.isOver = true;
    this.leave();
  }

  async whileBodyArrives<T>(arrive: (sender: Sender) => Promise<T>): Promise<T> {
    const sender = this.owner.senders.add(this.isOfStranger ? networkOf(this.context.clientAddress) : undefined);
    const left = this.held.filter(({ isKept }) => isKept !== true);
    this.held = this.held.filter(({ isKept }) => isKept === true);
    for (const { entrance } of left) entrance.leave();
    let body: T;
    try {
      body = await arrive(sender);
    } finally {
      sender.end();
    }
    for (const place of left) {
      if (!(await this.hold(place, place.entrance.reenter(this.context.response)))) throw this.owner.refusalOf(place.by, this.context);
    }
    return body;
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
