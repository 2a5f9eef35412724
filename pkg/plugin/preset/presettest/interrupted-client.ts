import type {
  AnyObject,
  Client,
  DeleteOptions,
  Deletion,
  EventStream,
  ListOptions,
  ObjectKey,
  ObjectList,
  Patch,
  RequestOptions,
  ResourceType,
  Stored,
  WatchOptions,
  WriteOptions,
} from '#pkg/apimachinery/index';

/** Simulates that the process was killed; not an error of the API. */
export class Killed extends Error {
  constructor() {
    super('killed');
    this.name = 'Killed';
  }
}

/**
 * Counts the writes of a process, and triggers an event at one of them: kills the process before the write, or after it
 * and before its response.
 */
export class Killer {
  readonly #step: number;
  readonly #moment: 'before' | 'after';
  readonly #happening: () => Promise<void>;
  #steps = 0;
  #isDead = false;

  /** @param happening runs instead of the kill */
  constructor(step = Number.POSITIVE_INFINITY, moment: 'before' | 'after' = 'before', happening?: () => Promise<void>) {
    this.#step = step;
    this.#moment = moment;
    this.#happening = happening ?? (() => this.#die());
  }

  get steps(): number {
    return this.#steps;
  }

  async step<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isDead) throw new Killed();
    const step = this.#steps;
    this.#steps += 1;
    if (step === this.#step && this.#moment === 'before') await this.#happening();
    const result = await work();
    if (step === this.#step && this.#moment === 'after') await this.#happening();
    return result;
  }

  async #die(): Promise<void> {
    this.#isDead = true;
    throw new Killed();
  }
}

/** A client that reports every write to its killer. */
export class InterruptedClient implements Client {
  readonly #client: Client;
  readonly #killer: Killer;

  constructor(client: Client, killer: Killer) {
    this.#client = client;
    this.#killer = killer;
  }

  get<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: RequestOptions): Promise<Stored<T>> {
    return this.#client.get(type, key, options);
  }

  list<T extends AnyObject>(type: ResourceType<T>, options?: ListOptions): Promise<ObjectList<T>> {
    return this.#client.list(type, options);
  }

  watch<T extends AnyObject>(type: ResourceType<T>, options: WatchOptions): Promise<EventStream<T>> {
    return this.#client.watch(type, options);
  }

  create<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#killer.step(() => this.#client.create(type, object, options));
  }

  update<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#killer.step(() => this.#client.update(type, object, options));
  }

  updateStatus<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#killer.step(() => this.#client.updateStatus(type, object, options));
  }

  patch<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.#killer.step(() => this.#client.patch(type, key, patch, options));
  }

  patchStatus<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.#killer.step(() => this.#client.patchStatus(type, key, patch, options));
  }

  delete<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: DeleteOptions): Promise<Deletion<T>> {
    return this.#killer.step(() => this.#client.delete(type, key, options));
  }
}
