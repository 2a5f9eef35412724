import { StatusError } from '#pkg/apimachinery/index';
import type { Sender } from '../request/request-context.ts';
import { refusals, type RefusedBy } from './limit-refusal.ts';

/** A limit left out is no limit. */
export interface SendersOptions {
  /** Bodies on their way at a time; of anonymous clients at most half. */
  total?: number;
  /** Of anonymous clients of one network. */
  perAddress?: number;
  /** Bytes a second that a body brings at least, on average after `graceMs`. */
  minRate?: number;
  /** Default 5 s. */
  graceMs?: number;
  /** Hears of every 429, of who came too late and of who was cut off. */
  observer?: { refused(by: SenderRefusal): void };
}

type SenderRefusal = Extract<RefusedBy, 'senders' | 'address_senders'>;

/** Who has been sending for so long may be cut off to make room. Milliseconds. */
const youngMs = 1000;

/**
 * Bodies that have not arrived yet, which hold no slot among the requests under way. Whoever sends more slowly than
 * the least rate is cut off with 408. Where there is no room the slowest anonymous client makes it, so that slow senders keep
 * nobody out, and anonymous clients never those who are known.
 */
export class Senders {
  private readonly options: SendersOptions;
  private readonly graceMs: number;
  private readonly all = new Set<SlowSender>();
  private readonly anonymous = new Set<SlowSender>();
  private readonly byNetwork = new Map<string, Set<SlowSender>>();
  private timer: NodeJS.Timeout | undefined;

  constructor(options: SendersOptions = {}) {
    this.options = options;
    this.graceMs = options.graceMs ?? 5000;
  }

  get count(): number {
    return this.all.size;
  }

  /**
   * A body of an anonymous client of this network, or of who is known; to be ended, which may be done twice. Throws StatusError
   * 429 where there is no room.
   */
  add(network: string | undefined): Sender & { end(): void } {
    const { total = Infinity, perAddress = Infinity } = this.options;
    if (network !== undefined) {
      const sameNetwork = this.byNetwork.get(network);
      if (sameNetwork !== undefined && sameNetwork.size >= perAddress) this.makeRoom(sameNetwork, 'address_senders');
      if (this.anonymous.size >= Math.max(1, total / 2)) this.makeRoom(this.anonymous, 'senders');
    }
    if (this.all.size >= total) this.makeRoom(this.anonymous, 'senders');
    const sender = new SlowSender(network, (each) => this.remove(each));
    this.all.add(sender);
    if (network !== undefined) {
      this.anonymous.add(sender);
      const sameNetwork = this.byNetwork.get(network);
      if (sameNetwork === undefined) this.byNetwork.set(network, new Set([sender]));
      else sameNetwork.add(sender);
    }
    this.watch();
    return sender;
  }

  private makeRoom(among: ReadonlySet<SlowSender>, by: SenderRefusal): void {
    this.options.observer?.refused(by);
    const now = performance.now();
    let slowest: SlowSender | undefined;
    for (const each of among)
      if (now - each.since >= youngMs && (slowest === undefined || each.rate(now) < slowest.rate(now))) slowest = each;
    if (slowest === undefined) throw refusals[by].error;
    slowest.cut(refusals[by].error);
  }

  private remove(sender: SlowSender): void {
    this.all.delete(sender);
    this.anonymous.delete(sender);
    if (sender.network === undefined) return;
    const sameNetwork = this.byNetwork.get(sender.network);
    if (sameNetwork?.delete(sender) === true && sameNetwork.size === 0) this.byNetwork.delete(sender.network);
  }

  /** One timer for all, while there are any. */
  private watch(): void {
    const { minRate = 0 } = this.options;
    if (this.timer !== undefined || minRate === 0) return;
    this.timer = setTimeout(
      () => {
        this.timer = undefined;
        this.cutSlow(minRate);
        if (this.all.size > 0) this.watch();
      },
      Math.max(10, Math.min(1000, this.graceMs / 4)),
    ).unref();
  }

  private cutSlow(minRate: number): void {
    const now = performance.now();
    for (const sender of this.all) {
      const ms = now - sender.since - this.graceMs;
      if (ms <= 0 || sender.bytes * 1000 >= minRate * ms) continue;
      sender.cut(
        new StatusError(408, 'BadRequest', `the body of the request came at less than ${minRate} bytes a second`),
      );
    }
  }
}

class SlowSender implements Sender {
  readonly network: string | undefined;
  readonly since = performance.now();
  bytes = 0;
  onCut: (reason: StatusError) => void = () => undefined;
  private readonly onEnd: (sender: SlowSender) => void;

  constructor(network: string | undefined, onEnd: (sender: SlowSender) => void) {
    this.network = network;
    this.onEnd = onEnd;
  }

  rate(now: number): number {
    return this.bytes / (now - this.since);
  }

  received(bytes: number): void {
    this.bytes += bytes;
  }

  end(): void {
    this.onEnd(this);
  }

  cut(reason: StatusError): void {
    this.end();
    this.onCut(reason);
  }
}
