import { setTimeout as delay } from 'node:timers/promises';
import {
  newConflict,
  newExpired,
  newServiceUnavailable,
  newTooManyRequests,
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
import { CrashError } from './crash-error.ts';
import { SeededFaults } from './seeded-faults.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Probability of each fault, from 0 (never) to 1; default 0. */
export interface FaultRates {
  /** A read or write fails with 503 before it reaches the server. */
  unavailable?: number;
  /** A read or write fails with 429. */
  tooManyRequests?: number;
  /** A write succeeds, and its response is lost. */
  lostAnswer?: number;
  /** A response arrives late, after the events of its write. */
  lateAnswer?: number;
  /** A write that names a revision fails with 409. */
  conflict?: number;
  /** A watch ends after an event. */
  droppedWatch?: number;
  /** A watch, or the next chunk of a list, fails with 410. */
  expired?: number;
  /** An event and all later ones arrive late, so that caches lag behind the API. */
  delayedEvent?: number;
  /** The process crashes right before or after a write: a CrashError, then and from every later call. */
  crash?: number;
}

export interface FaultyClientOptions {
  client: Client;
  seed: number;
  rates: FaultRates;
  /** Called with a description of each fault. */
  onFault?: (fault: string) => void;
}

/** State shared by a client and its successors after crashes. */
interface World {
  client: Client;
  faults: SeededFaults;
  rates: FaultRates;
  onFault: (fault: string) => void;
}

/**
 * A Client with the faults of real networks. The seed alone decides the fault of the nth call of one verb on one
 * object.
 */
export class FaultyClient implements Client {
  readonly #world: World;
  #death: CrashError | undefined;
  #die!: () => void;
  /** Resolves at the crash. */
  readonly crashed: Promise<void>;

  constructor(
    { client, seed, rates, onFault = () => undefined }: FaultyClientOptions,
    world: World = { client, faults: new SeededFaults(seed), rates, onFault },
  ) {
    this.#world = world;
    this.crashed = new Promise((resolve) => {
      this.#die = resolve;
    });
  }

  /** The client of the restarted process after a crash. It continues the sequence of faults. */
  nextLife(): FaultyClient {
    return new FaultyClient({ ...this.#world, seed: 0 }, this.#world);
  }

  /** Applies to all lives. */
  setRates(rates: FaultRates): void {
    this.#world.rates = rates;
  }

  /** Ends all faults. */
  heal(): void {
    this.setRates({});
  }

  get<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: RequestOptions): Promise<Stored<T>> {
    return this.#read(nameOf('get', type, key), (client) => client.get(type, key, options));
  }

  async list<T extends AnyObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    const call = nameOf('list', type);
    if (options.continue !== undefined && this.#happens('expired', call))
      throw newExpired('the history of this list is gone');
    return this.#read(call, (client) => client.list(type, options));
  }

  create<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#write(nameOf('create', type, object.metadata), (client) => client.create(type, object, options));
  }

  update<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#write(
      nameOf('update', type, object.metadata),
      (client) => client.update(type, object, options),
      conflictAt(type, object),
    );
  }

  updateStatus<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#write(
      nameOf('updateStatus', type, object.metadata),
      (client) => client.updateStatus(type, object, options),
      conflictAt(type, object),
    );
  }

  patch<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.#write(
      nameOf('patch', type, key),
      (client) => client.patch(type, key, patch, options),
      namesRevision(patch) ? conflictOf(type, key) : undefined,
    );
  }

  patchStatus<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.#write(
      nameOf('patchStatus', type, key),
      (client) => client.patchStatus(type, key, patch, options),
      namesRevision(patch) ? conflictOf(type, key) : undefined,
    );
  }

  delete<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: DeleteOptions): Promise<Deletion<T>> {
    const conflict = options?.resourceVersion === undefined ? undefined : conflictOf(type, key);
    return this.#write(nameOf('delete', type, key), (client) => client.delete(type, key, options), conflict);
  }

  async watch<T extends AnyObject>(type: ResourceType<T>, options: WatchOptions): Promise<EventStream<T>> {
    const call = nameOf('watch', type);
    if (this.#happens('expired', call)) throw newExpired('the history of this watch is gone');
    const stream = await this.#read(call, (client) => client.watch(type, options));
    const disturbed = this.#disturbed(call, stream);
    return { close: () => stream.close(), [Symbol.asyncIterator]: () => disturbed };
  }

  async *#disturbed<T extends AnyObject>(call: string, stream: EventStream<T>): AsyncGenerator<ClientEvent<T>> {
    for await (const event of stream) {
      if (this.#happens('delayedEvent', call)) await this.#linger(call);
      if (this.#death !== undefined || this.#happens('droppedWatch', call)) return;
      yield event;
    }
  }

  async #read<Result>(call: string, work: (client: Client) => Promise<Result>): Promise<Result> {
    this.#checkAlive();
    if (this.#happens('unavailable', call)) throw newServiceUnavailable('the server could not be reached');
    if (this.#happens('tooManyRequests', call)) throw newTooManyRequests('the server has too much to do', 1);
    const result = await work(this.#world.client);
    if (this.#happens('lateAnswer', call)) await this.#linger(call);
    // Its calls from before the crash may still have succeeded.
    this.#checkAlive();
    return result;
  }

  async #write<Result>(
    call: string,
    work: (client: Client) => Promise<Result>,
    conflict?: () => Error,
  ): Promise<Result> {
    this.#checkAlive();
    const crashes = this.#happens('crash', call);
    const comesThrough = this.#world.faults.of(`comes through ${call}`).chance(0.5);
    if (crashes && !comesThrough) this.#crash();
    if (conflict !== undefined && this.#happens('conflict', call)) throw conflict();
    const isLost = this.#happens('lostAnswer', call);
    const result = await this.#read(call, work);
    if (crashes) this.#crash();
    if (isLost) throw newServiceUnavailable('the answer was lost');
    return result;
  }

  #crash(): never {
    this.#death ??= new CrashError('the process crashed');
    this.#die();
    throw this.#death;
  }

  #checkAlive(): void {
    if (this.#death !== undefined) throw this.#death;
  }

  #happens(fault: keyof FaultRates, call: string): boolean {
    const { rates, faults, onFault } = this.#world;
    if (!faults.of(`${fault} ${call}`).chance(rates[fault] ?? 0)) return false;
    onFault(`${fault}: ${call}`);
    return true;
  }

  /** Usually some turns of the event loop; sometimes long enough for whole reconciles. */
  async #linger(call: string): Promise<void> {
    const random: SeededRandom = this.#world.faults.of(`linger ${call}`);
    if (random.chance(0.2)) await delay(random.below(20));
    else
      for (let turns = random.below(20); turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

function nameOf(verb: string, { plural }: ResourceType, key?: { namespace?: string; name: string }): string {
  if (key === undefined) return `${verb} ${plural}`;
  return `${verb} ${plural} ${key.namespace === undefined || key.namespace === '' ? '' : `${key.namespace}/`}${key.name}`;
}

function conflictOf({ group, plural }: ResourceType, { name }: { name: string }): () => Error {
  return () => newConflict({ group, resource: plural }, name, 'somebody else was faster');
}

function conflictAt(type: ResourceType, { metadata }: AnyObject): (() => Error) | undefined {
  return metadata.resourceVersion === undefined ? undefined : conflictOf(type, metadata);
}

/** Other patches cannot conflict: they apply to any present object. */
function namesRevision({ type, patch }: Patch): boolean {
  if (type === 'json')
    return patch.some((operation) => JSON.stringify(operation).includes('"/metadata/resourceVersion"'));
  const { metadata } = patch;
  return typeof metadata === 'object' && metadata !== null && 'resourceVersion' in metadata;
}
