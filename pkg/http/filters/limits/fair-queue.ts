import type { ServerResponse } from 'node:http';
import { isAnswered } from '../../answer/respond.ts';

export interface FairQueueOptions {
  /** How long a request may wait. Milliseconds; 0: requests never wait. */
  maxWaitMs: number;
  /** How many requests may wait at a time. Default 10 000. */
  maxWaiting?: number;
  /** Of these, how many of one flow. Default 1000, or `maxWaiting` if that is less. */
  maxWaitingPerFlow?: number;
}

export interface WaitOptions {
  /** The requests that share one turn: those of a user, or of a network of anonymous clients. Default: all requests. */
  flow?: string | undefined;
  /** How long it has waited elsewhere. Milliseconds, default 0. */
  waitedMs?: number | undefined;
  /** It had a slot before: it goes ahead of its flow, and has the full time to wait. Default false. */
  isReturning?: boolean;
}

/**
 * If the oldest request of a flow has waited longer than this, the flow is overloaded. Its newest request then goes
 * first, because it has the best chance to be served in time. Milliseconds.
 */
const standingQueueMs = 50;

/**
 * Requests that wait for a slot. The flows take turns, one request each, so a flow of many requests delays another by
 * one request. A wait ends after `maxWaitMs`, or when the client disconnects.
 *
 * A flow is FIFO while its waits are short and LIFO once they are long: under permanent overload a FIFO queue would
 * serve every request just too late. Waiting also limits the rate of refusals: a client of HTTP/1.1 sends nothing else
 * on the connection that waits, so at most (number of connections) / maxWaitMs requests are refused in a given time.
 * Source: Kubernetes' API priority and fairness (flows, fair queuing, a queue before a refusal); "Fail at Scale", ACM
 * Queue 13(8) (adaptive LIFO, controlled delay).
 */
export class FairQueue {
  readonly #options: Required<FairQueueOptions>;
  /** Flows with waiting requests, in the order of their turns. */
  readonly #flows = new Map<string, Flow>();
  /** All requests, to end their waits. */
  readonly #arrivals = new ArrivalOrder();
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #expiresAt = Infinity;

  constructor({ maxWaitMs, maxWaiting = 10_000, maxWaitingPerFlow = 1000 }: FairQueueOptions) {
    this.#options = { maxWaitMs, maxWaiting, maxWaitingPerFlow: Math.min(maxWaiting, maxWaitingPerFlow) };
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Flows with waiting requests. */
  get flows(): number {
    return this.#flows.size;
  }

  /** Resolves with whether the request was admitted; false at once if it may not wait. */
  wait(
    response: ServerResponse,
    { flow: key = '', waitedMs = 0, isReturning = false }: WaitOptions = {},
  ): false | Promise<boolean> {
    const { maxWaitMs, maxWaiting, maxWaitingPerFlow } = this.#options;
    if (isAnswered(response)) return false;
    if (!isReturning && (waitedMs >= maxWaitMs || this.#waiting >= maxWaiting)) return false;
    const flow = this.#flows.get(key) ?? new Flow(key);
    if (!isReturning && flow.waiting >= maxWaitingPerFlow) return false;
    return new Promise((resolve) => {
      const onClose = (): void => one.settle(false);
      const one: WaitingRequest = {
        response,
        since: performance.now() - (isReturning ? 0 : waitedMs),
        isSettled: false,
        settle: (isIn) => {
          if (one.isSettled) return;
          one.isSettled = true;
          this.#waiting -= 1;
          flow.waiting -= 1;
          if (flow.waiting === 0) this.#flows.delete(key);
          response.off('close', onClose);
          resolve(isIn);
        },
      };
      response.once('close', onClose);
      this.#waiting += 1;
      flow.add(one, isReturning);
      if (flow.waiting === 1) this.#flows.set(key, flow);
      this.#arrivals.insert(one);
      this.#arm(one.since + maxWaitMs);
    });
  }

  /** Admits the next request whose client is still connected. Returns false if there is none. */
  admitNext(): boolean {
    for (const flow of this.#flows.values()) {
      const isIn = flow.admitNext();
      // Behind the other flows.
      if (isIn && this.#flows.delete(flow.key)) this.#flows.set(flow.key, flow);
      if (isIn) return true;
    }
    return false;
  }

  /** One timer is enough: the wait of the oldest request ends first. */
  #arm(at: number): void {
    if (at >= this.#expiresAt) return;
    clearTimeout(this.#timer);
    this.#expiresAt = at;
    this.#timer = setTimeout(() => this.#expire(), Math.max(1, at - performance.now())).unref();
  }

  #expire(): void {
    this.#expiresAt = Infinity;
    for (let next = this.#arrivals.oldest(); next !== undefined; next = this.#arrivals.oldest()) {
      const at = next.since + this.#options.maxWaitMs;
      if (at > performance.now()) return this.#arm(at);
      next.settle(false);
    }
  }
}

interface WaitingRequest {
  response: ServerResponse;
  /** Start of the wait by `performance.now()`, time that the request waited elsewhere included. */
  since: number;
  isSettled: boolean;
  settle: (isIn: boolean) => void;
}

/** The waiting requests of one flow. */
class Flow {
  readonly key: string;
  waiting = 0;
  readonly #returning = new ArrivalOrder();
  readonly #arrivals = new ArrivalOrder();

  constructor(key: string) {
    this.key = key;
  }

  add(one: WaitingRequest, isReturning: boolean): void {
    this.waiting += 1;
    (isReturning ? this.#returning : this.#arrivals).insert(one);
  }

  admitNext(): boolean {
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      const isIn = !isAnswered(next.response);
      next.settle(isIn);
      if (isIn) return true;
    }
    return false;
  }

  #take(): WaitingRequest | undefined {
    const returning = this.#returning.takeOldest();
    if (returning !== undefined) return returning;
    const oldest = this.#arrivals.oldest();
    if (oldest === undefined) return undefined;
    return performance.now() - oldest.since > standingQueueMs
      ? this.#arrivals.takeNewest()
      : this.#arrivals.takeOldest();
  }
}

/** Requests ordered by `since`. Those whose wait has ended stay in it until they are reached. */
class ArrivalOrder {
  /** From index `#first` on. */
  #requests: WaitingRequest[] = [];
  #first = 0;

  /** Cheap: the position is near the end, since only a request that waited elsewhere overtakes others. */
  insert(one: WaitingRequest): void {
    let at = this.#requests.length;
    while (at > this.#first && this.#requests[at - 1]!.since > one.since) at -= 1;
    if (at === this.#requests.length) this.#requests.push(one);
    else this.#requests.splice(at, 0, one);
  }

  /** The oldest request that still waits. */
  oldest(): WaitingRequest | undefined {
    while (this.#requests[this.#first]?.isSettled === true) this.#first += 1;
    // Shifting one by one would move the whole array each time.
    if (this.#first > 0 && (this.#first === this.#requests.length || this.#first > 1024)) {
      this.#requests = this.#requests.slice(this.#first);
      this.#first = 0;
    }
    return this.#requests[this.#first];
  }

  takeOldest(): WaitingRequest | undefined {
    const oldest = this.oldest();
    if (oldest !== undefined) this.#first += 1;
    return oldest;
  }

  /** The newest request that still waits. */
  takeNewest(): WaitingRequest | undefined {
    while (this.#requests.length > this.#first) {
      const newest = this.#requests.pop()!;
      if (!newest.isSettled) return newest;
    }
    return undefined;
  }
}
