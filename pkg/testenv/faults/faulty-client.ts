import {
  ApplyConflict,
  fieldManagerConflict,
  newConflict,
  newExpired,
  newServiceUnavailable,
  newTooManyRequests,
  pause,
  type AnyObject,
  type Client,
  type ClientEvent,
  type EventStream,
  type ListOptions,
  type ObjectList,
  type ResourceType,
  type WatchOptions,
} from '#pkg/apimachinery/index';
import {
  ClientWrapper,
  type ClientRead,
  type ClientWrite,
  type ClientWriteOptions,
  type WriteResult,
} from '#pkg/client/index';
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
  /** An apply without `force` fails with an ApplyConflict. */
  fieldConflict?: number;
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
interface FaultyClientState {
  client: Client;
  faults: SeededFaults;
  rates: FaultRates;
  onFault: (fault: string) => void;
}

/**
 * A Client with the faults of real networks. The seed alone decides the fault of the nth call of one verb on one
 * object.
 */
export class FaultyClient extends ClientWrapper {
  readonly #state: FaultyClientState;
  #death: CrashError | undefined;
  #die!: () => void;
  /** Resolves at the crash. */
  readonly crashed: Promise<void>;

  constructor(
    { client, seed, rates, onFault = () => undefined }: FaultyClientOptions,
    state: FaultyClientState = { client, faults: new SeededFaults(seed), rates, onFault },
  ) {
    super(state.client);
    this.#state = state;
    this.crashed = new Promise((resolve) => {
      this.#die = resolve;
    });
  }

  /** The client of the restarted process after a crash. It continues the sequence of faults. */
  restarted(): FaultyClient {
    return new FaultyClient({ ...this.#state, seed: 0 }, this.#state);
  }

  /** Applies to all lives. */
  setRates(rates: FaultRates): void {
    this.#state.rates = rates;
  }

  /** Ends all faults. */
  heal(): void {
    this.setRates({});
  }

  override async list<T extends AnyObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    if (options.continue !== undefined && this.#happens('expired', nameOf({ verb: 'list', type })))
      throw newExpired('the history of this list is gone');
    return super.list(type, options);
  }

  override async watch<T extends AnyObject>(type: ResourceType<T>, options: WatchOptions): Promise<EventStream<T>> {
    const call = nameOf({ verb: 'watch', type });
    if (this.#happens('expired', call)) throw newExpired('the history of this watch is gone');
    const stream = await super.watch(type, options);
    const disturbed = this.#disturbed(call, stream);
    return { close: () => stream.close(), [Symbol.asyncIterator]: () => disturbed };
  }

  async *#disturbed<T extends AnyObject>(call: string, stream: EventStream<T>): AsyncGenerator<ClientEvent<T>> {
    for await (const event of stream) {
      if (this.#happens('delayedEvent', call)) await this.#delayResponse(call);
      if (this.#death !== undefined || this.#happens('droppedWatch', call)) return;
      yield event;
    }
  }

  protected override async read<Result>(read: ClientRead, send: () => Promise<Result>): Promise<Result> {
    return this.#exchange(nameOf(read), send);
  }

  protected override async write<T extends AnyObject, Result extends WriteResult<T>>(
    write: ClientWrite<T>,
    send: (options: ClientWriteOptions | undefined) => Promise<Result>,
  ): Promise<Result> {
    const call = nameOf(write);
    this.#checkAlive();
    const crashes = this.#happens('crash', call);
    const comesThrough = this.#state.faults.of(`comes through ${call}`).chance(0.5);
    if (crashes && !comesThrough) this.#crash();
    if (namesRevision(write) && this.#happens('conflict', call))
      throw newConflict(
        { group: write.type.group, resource: write.type.plural },
        write.key.name,
        'somebody else was faster',
      );
    if (takesNoFields(write) && this.#happens('fieldConflict', call)) throw newFieldConflict();
    const isLost = this.#happens('lostAnswer', call);
    const result = await this.#exchange(call, () => send(write.options));
    if (crashes) this.#crash();
    if (isLost) throw newServiceUnavailable('the answer was lost');
    return result;
  }

  async #exchange<Result>(call: string, send: () => Promise<Result>): Promise<Result> {
    this.#checkAlive();
    if (this.#happens('unavailable', call)) throw newServiceUnavailable('the server could not be reached');
    if (this.#happens('tooManyRequests', call)) throw newTooManyRequests('the server has too much to do', 1);
    const result = await send();
    if (this.#happens('lateAnswer', call)) await this.#delayResponse(call);
    // What it asked for before it died may still have been done.
    this.#checkAlive();
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
    const { rates, faults, onFault } = this.#state;
    if (!faults.of(`${fault} ${call}`).chance(rates[fault] ?? 0)) return false;
    onFault(`${fault}: ${call}`);
    return true;
  }

  /** Usually some turns of the event loop; sometimes long enough for whole reconciles. */
  async #delayResponse(call: string): Promise<void> {
    const random: SeededRandom = this.#state.faults.of(`linger ${call}`);
    if (random.chance(0.2)) await pause(random.below(20));
    else
      for (let turns = random.below(20); turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

function nameOf({ verb, type: { plural }, key }: ClientRead | ClientWrite): string {
  if (key === undefined) return `${verb} ${plural}`;
  return `${verb} ${plural} ${key.namespace === '' ? '' : `${key.namespace}/`}${key.name}`;
}

/** Others cannot conflict: they are repeated on whatever is there. */
function namesRevision<T extends AnyObject>({ verb, object, patch, configuration, options }: ClientWrite<T>): boolean {
  if (verb === 'delete') return options?.resourceVersion !== undefined;
  if (configuration !== undefined) return configuration.metadata.resourceVersion !== undefined;
  if (patch === undefined) return verb !== 'create' && object?.metadata.resourceVersion !== undefined;
  if (patch.type === 'json')
    return patch.patch.some((operation) => JSON.stringify(operation).includes('"/metadata/resourceVersion"'));
  const { metadata } = patch.patch;
  return typeof metadata === 'object' && metadata !== null && 'resourceVersion' in metadata;
}

function takesNoFields<T extends AnyObject>({ configuration, options }: ClientWrite<T>): boolean {
  return configuration !== undefined && options?.force !== true;
}

function newFieldConflict(): ApplyConflict {
  const message = 'conflict with "somebody-else"';
  return new ApplyConflict(`Apply failed with 1 conflict: ${message}: .spec`, {
    details: { causes: [{ reason: fieldManagerConflict, message, field: '.spec' }] },
  });
}
