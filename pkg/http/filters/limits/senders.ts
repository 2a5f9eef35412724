import { StatusError } from '#pkg/apimachinery/index';
import type { Sender } from '../../request/request-context.ts';
import { refusals, type RefusedBy } from './limit-refusal.ts';

/** No value: no limit. */
export interface SendersOptions {
  /** Bodies that may arrive at a time; anonymous clients may send at most half of them. */
  total?: number;
  /** Bodies that anonymous clients of one network may send at a time. */
  perAddress?: number;
  /** Minimum rate of a body in bytes a second, on average after `graceMs`. */
  minBytesPerSecond?: number;
  /** Default 5 s. */
  graceMs?: number;
  /** Called for every 429: for bodies that were refused and for bodies that were cut off. */
  observer?: { refused(by: SenderRefusal): void };
}

type SenderRefusal = Extract<RefusedBy, 'senders' | 'address_senders'>;

/** A body may be cut off to make room for another once it has been arriving for this long. Milliseconds. */
const youngMs = 1000;

/**
 * Request bodies that are still arriving; they hold no slot of the in-flight limits. A body slower than the minimum
 * rate is cut off with 408. At the limit the slowest anonymous body is cut off, so slow senders block nobody, and
 * anonymous clients never block known ones.
 */
export class Senders {
  readonly #options: SendersOptions;
  readonly #graceMs: number;
  readonly #all = new Set<SlowSender>();
  readonly #anonymous = new Set<SlowSender>();
  readonly #byNetwork = new Map<string, Set<SlowSender>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SendersOptions = {}) {
    this.#options = options;
    this.#graceMs = options.graceMs ?? 5000;
  }

  get count(): number {
    return this.#all.size;
  }

  /**
   * Adds a body: of an anonymous client of this network, or of a known client if `network` is undefined. The caller
   * must call `end` (idempotent). @throws StatusError 429 at the limit
   */
  add(network: string | undefined): Sender & { end(): void } {
    const { total = Infinity, perAddress = Infinity } = this.#options;
    if (network !== undefined) {
      const sameNetwork = this.#byNetwork.get(network);
      if (sameNetwork !== undefined && sameNetwork.size >= perAddress) this.#makeRoom(sameNetwork, 'address_senders');
      if (this.#anonymous.size >= Math.max(1, total / 2)) this.#makeRoom(this.#anonymous, 'senders');
    }
    if (this.#all.size >= total) this.#makeRoom(this.#anonymous, 'senders');
    const sender = new SlowSender(network, (each) => this.#remove(each));
    this.#all.add(sender);
    if (network !== undefined) {
      this.#anonymous.add(sender);
      const sameNetwork = this.#byNetwork.get(network);
      if (sameNetwork === undefined) this.#byNetwork.set(network, new Set([sender]));
      else sameNetwork.add(sender);
    }
    this.#watch();
    return sender;
  }

  #makeRoom(among: ReadonlySet<SlowSender>, by: SenderRefusal): void {
    this.#options.observer?.refused(by);
    const now = performance.now();
    let slowest: SlowSender | undefined;
    for (const each of among)
      if (
        now - each.since >= youngMs &&
        (slowest === undefined || each.bytesPerSecond(now) < slowest.bytesPerSecond(now))
      )
        slowest = each;
    if (slowest === undefined) throw refusals[by].error;
    slowest.cut(refusals[by].error);
  }

  #remove(sender: SlowSender): void {
    this.#all.delete(sender);
    this.#anonymous.delete(sender);
    if (sender.network === undefined) return;
    const sameNetwork = this.#byNetwork.get(sender.network);
    if (sameNetwork?.delete(sender) === true && sameNetwork.size === 0) this.#byNetwork.delete(sender.network);
  }

  /** One timer for all bodies; it runs while there are any. */
  #watch(): void {
    const { minBytesPerSecond = 0 } = this.#options;
    if (this.#timer !== undefined || minBytesPerSecond === 0) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#cutSlow(minBytesPerSecond);
        if (this.#all.size > 0) this.#watch();
      },
      Math.max(10, Math.min(1000, this.#graceMs / 4)),
    ).unref();
  }

  #cutSlow(minBytesPerSecond: number): void {
    const now = performance.now();
    for (const sender of this.#all) {
      const ms = now - sender.since - this.#graceMs;
      if (ms <= 0 || sender.bytes * 1000 >= minBytesPerSecond * ms) continue;
      sender.cut(
        new StatusError(
          408,
          'BadRequest',
          `the body of the request came at less than ${minBytesPerSecond} bytes a second`,
        ),
      );
    }
  }
}

class SlowSender implements Sender {
  readonly network: string | undefined;
  readonly since = performance.now();
  bytes = 0;
  onCut: (reason: StatusError) => void = () => undefined;
  readonly #onEnd: (sender: SlowSender) => void;

  constructor(network: string | undefined, onEnd: (sender: SlowSender) => void) {
    this.network = network;
    this.#onEnd = onEnd;
  }

  bytesPerSecond(now: number): number {
    return this.bytes / (now - this.since);
  }

  received(bytes: number): void {
    this.bytes += bytes;
  }

  end(): void {
    this.#onEnd(this);
  }

  cut(reason: StatusError): void {
    this.end();
    this.onCut(reason);
  }
}
