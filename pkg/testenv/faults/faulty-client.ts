import {
  newConflict,
  newExpired,
  newServiceUnavailable,
  type AnyObject,
  type Client,
  type ClientEvent,
  type DeleteOptions,
  type Deletion,
  type EventStream,
  type ListOptions,
  type ObjectKey,
  type ObjectList,
  type Patch,
  type RequestOptions,
  type ResourceType,
  type Stored,
  type WatchOptions,
  type WriteOptions,
} from '#pkg/apimachinery/index';
import { SeededRandom } from './seeded-random.ts';

/** How often each thing goes wrong, from 0 (never) to 1; those left out are 0. */
export interface FaultRates {
  /** A read or write fails before it reaches the server. */
  unavailable?: number;
  /** A write is made, and its answer lost. */
  lostAnswer?: number;
  /** An update fails as if somebody else had been faster. */
  conflict?: number;
  /** A watch ends after an event. */
  droppedWatch?: number;
  /** A watch, or the next chunk of a list, finds its history gone. */
  expired?: number;
  /** An event, and all after it, come some turns of the event loop late. */
  delayedEvent?: number;
}

export interface FaultyClientOptions {
  client: Client;
  seed: number;
  rates: FaultRates;
}

/** A Client on which things go wrong as they do on real networks, the same for the same seed and order of calls. */
export class FaultyClient implements Client {
  readonly #client: Client;
  readonly #random: SeededRandom;
  #rates: FaultRates;

  constructor({ client, seed, rates }: FaultyClientOptions) {
    this.#client = client;
    this.#random = new SeededRandom(seed);
    this.#rates = rates;
  }

  setRates(rates: FaultRates): void {
    this.#rates = rates;
  }

  /** From here on nothing goes wrong. */
  heal(): void {
    this.setRates({});
  }

  get<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: RequestOptions): Promise<Stored<T>> {
    return this.#read(() => this.#client.get(type, key, options));
  }

  list<T extends AnyObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    if (options.continue !== undefined && this.#happens('expired')) return Promise.reject(newExpired('the history of this list is gone'));
    return this.#read(() => this.#client.list(type, options));
  }

  create<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#write(() => this.#client.create(type, object, options));
  }

  update<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#update(type, object, () => this.#client.update(type, object, options));
  }

  updateStatus<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#update(type, object, () => this.#client.updateStatus(type, object, options));
  }

  patch<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, patch: Patch, options?: WriteOptions): Promise<Stored<T>> {
    return this.#write(() => this.#client.patch(type, key, patch, options));
  }

  patchStatus<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, patch: Patch, options?: WriteOptions): Promise<Stored<T>> {
    return this.#write(() => this.#client.patchStatus(type, key, patch, options));
  }

  delete<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: DeleteOptions): Promise<Deletion<T>> {
    return this.#write(() => this.#client.delete(type, key, options));
  }

  async watch<T extends AnyObject>(type: ResourceType<T>, options: WatchOptions): Promise<EventStream<T>> {
    if (this.#happens('expired')) throw newExpired('the history of this watch is gone');
    const stream = await this.#read(() => this.#client.watch(type, options));
    const disturbed = this.#disturbed(stream);
    return { close: () => stream.close(), [Symbol.asyncIterator]: () => disturbed };
  }

  async *#disturbed<T extends AnyObject>(stream: EventStream<T>): AsyncGenerator<ClientEvent<T>> {
    for await (const event of stream) {
      if (this.#happens('delayedEvent')) for (let turns = this.#random.below(20); turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
      if (this.#happens('droppedWatch')) return;
      yield event;
    }
  }

  #update<T extends AnyObject>(type: ResourceType<T>, object: T, work: () => Promise<Stored<T>>): Promise<Stored<T>> {
    if (this.#happens('conflict')) return Promise.reject(newConflict({ group: type.group, resource: type.plural }, object.metadata.name, 'somebody else was faster'));
    return this.#write(work);
  }

  #read<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#happens('unavailable') ? Promise.reject(newServiceUnavailable('the server could not be reached')) : work();
  }

  async #write<Result>(work: () => Promise<Result>): Promise<Result> {
    const isLost = this.#happens('lostAnswer');
    const result = await this.#read(work);
    if (isLost) throw newServiceUnavailable('the answer was lost');
    return result;
  }

  #happens(fault: keyof FaultRates): boolean {
    return this.#random.chance(this.#rates[fault] ?? 0);
  }
}
