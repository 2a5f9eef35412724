import { setTimeout as delay } from 'node:timers/promises';
import type {
  ObservedObject,
  Operation,
  Outcome,
  Precondition,
  SentObject,
  SentPatch,
  WrittenAnswer,
} from '../history/history.ts';
import type { SeededRandom } from '../seeded-random.ts';
import { chanceChange, chanceFields, chanceLabels } from './random-objects.ts';
import { outcomeOf, recordOf, type Exchange, type RecordingClient } from './recording-client.ts';
import {
  bodyOf,
  fleeting,
  namespaces,
  notes,
  observedObject,
  patchOf,
  pathOf,
  things,
  type SampleModel,
  type WireObject,
} from './sample-models.ts';
import { selectorParameters } from './selector-text.ts';

const verbs = { create: 30, update: 26, patch: 24, delete: 9, get: 6, deleteCollection: 2, mistake: 1 };
const hotNames = 4;
const longestPauseMs = 60;
/** Retries of a request with an unknown outcome, with its key. */
const repetitions = 4;

interface Key {
  model: SampleModel;
  namespace: string;
  name: string;
}

interface Request {
  method: string;
  path: string;
  body?: string;
  headers?: Record<string, string>;
}

/** A client that writes, based on its last known state of an object, with short pauses between responses. */
export class Writer {
  readonly client: RecordingClient;
  readonly #random: SeededRandom;
  readonly #known = new Map<string, ObservedObject>();
  #isOver = false;
  #work: Promise<void> = Promise.resolve();

  constructor(client: RecordingClient) {
    this.client = client;
    this.#random = client.random.fork('work');
  }

  start(): void {
    this.#work = this.#run();
  }

  /** Resolves when the running request has its outcome. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      await this.#step();
      await delay(this.#random.below(longestPauseMs));
    }
  }

  async #step(): Promise<void> {
    const key = this.#chooseKey();
    switch (this.#random.weighted(verbs)) {
      case 'create':
        return this.#create(key);
      case 'update':
        return this.#update(key);
      case 'patch':
        return this.#patch(key);
      case 'delete':
        return this.#delete(key);
      case 'deleteCollection':
        return this.#deleteCollection();
      case 'mistake':
        return this.#mistake(key);
      default:
        await this.#get(key);
    }
  }

  #chooseKey(): Key {
    const random = this.#random;
    const model = random.pick([things, things, things, things, notes, notes, fleeting]);
    const namespace = model.namespaced ? random.pick(namespaces) : '';
    return {
      model,
      namespace,
      name: random.chance(0.3) ? `hot-${random.below(hotNames)}` : `n-${random.below(model.names)}`,
    };
  }

  /** Identifies the next write. */
  #marker(): string {
    return `w${this.client.id}-${this.client.seq + 1}`;
  }

  #sent({ model }: Key): SentObject {
    return { marker: this.#marker(), labels: chanceLabels(this.#random), fields: chanceFields(model, this.#random) };
  }

  async #create(key: Key): Promise<void> {
    const sent = this.#sent(key);
    const request = {
      method: 'POST',
      path: pathOf(key.model, key.namespace),
      body: JSON.stringify(bodyOf(key.model, key, sent)),
    };
    await this.#write(key, request, (outcome) => ({ verb: 'create', name: key.name, sent, outcome }));
  }

  async #update(key: Key): Promise<void> {
    const known = await this.#recall(key);
    if (known === undefined) return this.#create(key);
    const sent = this.#sent(key);
    const precondition = this.#precondition(known);
    const revision = precondition.ifMatch === true ? undefined : precondition.expected;
    const request = {
      method: 'PUT',
      path: pathOf(key.model, key.namespace, key.name),
      body: JSON.stringify(bodyOf(key.model, key, sent, revision)),
      headers: ifMatch(precondition),
    };
    await this.#write(key, request, (outcome) => ({ verb: 'update', name: key.name, sent, ...precondition, outcome }));
  }

  async #patch(key: Key): Promise<void> {
    const sent: SentPatch = { marker: this.#marker(), fields: chanceChange(key.model, this.#random) };
    if (this.#random.chance(0.3)) sent.labels = { team: this.#random.chance(0.3) ? null : 'b' };
    const known = this.#known.get(idOf(key));
    const precondition = known !== undefined && this.#random.chance(0.3) ? this.#precondition(known) : {};
    const revision = precondition.ifMatch === true ? undefined : precondition.expected;
    const request = {
      method: 'PATCH',
      path: pathOf(key.model, key.namespace, key.name),
      body: JSON.stringify(patchOf(sent, revision)),
      headers: { 'content-type': 'application/merge-patch+json', ...ifMatch(precondition) },
    };
    await this.#write(key, request, (outcome) => ({ verb: 'patch', name: key.name, sent, ...precondition, outcome }));
  }

  /** Usually the last known revision, which may be stale; sometimes none. */
  #precondition({ revision }: ObservedObject): Precondition {
    if (this.#random.chance(0.15)) return {};
    return { expected: revision, ...(this.#random.chance(0.2) ? { ifMatch: true } : {}) };
  }

  async #write(
    key: Key,
    request: Request,
    record: (outcome: Outcome<WrittenAnswer>) => { verb: 'create' | 'update' | 'patch' } & object,
  ): Promise<void> {
    await this.#perform(key, request, (exchange) => {
      const outcome = outcomeOf(exchange, (body, headers) => ({
        object: observedObject(key.model, body as WireObject),
        ...(headers['idempotent-replayed'] === undefined ? {} : { replayed: true }),
      }));
      if (outcome.type === 'ok') this.#known.set(idOf(key), outcome.object);
      else if (outcome.type === 'refused') this.#known.delete(idOf(key));
      return record(outcome);
    });
  }

  async #delete(key: Key): Promise<void> {
    const known = this.#known.get(idOf(key));
    const precondition: Precondition = {};
    if (known !== undefined && this.#random.chance(0.3)) precondition.expected = known.revision;
    if (known !== undefined && this.#random.chance(0.3)) precondition.expectedUid = known.uid;
    const { expected, expectedUid } = precondition;
    const preconditions = {
      ...(expected === undefined ? {} : { resourceVersion: String(expected) }),
      ...(expectedUid === undefined ? {} : { uid: expectedUid }),
    };
    const request = {
      method: 'DELETE',
      path: pathOf(key.model, key.namespace, key.name),
      body: JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', preconditions }),
    };
    await this.#perform(key, request, (exchange) => {
      const outcome = outcomeOf(exchange, (body, headers) => ({
        uid: (body as { details: { uid: string } }).details.uid,
        ...(headers['idempotent-replayed'] === undefined ? {} : { replayed: true }),
      }));
      if (outcome.type !== 'unknown') this.#known.delete(idOf(key));
      return { verb: 'delete', name: key.name, ...precondition, outcome };
    });
  }

  async #deleteCollection(): Promise<void> {
    const selector = {
      labels: [{ key: 'team', operator: 'in' as const, values: [this.#random.pick(['a', 'b', 'c'])] }],
      fields: [{ field: 'spec.priority', operator: '<' as const, value: 4 }],
    };
    const model = this.#random.pick([notes, notes, things]);
    const namespace = model.namespaced ? this.#random.pick(namespaces) : '';
    const exchange = await this.client.exchange({
      method: 'DELETE',
      path: `${pathOf(model, namespace)}?${selectorParameters(selector).toString()}`,
    });
    const outcome = outcomeOf(exchange, (body) => ({
      deleted: (body as { items: WireObject[] }).items.map((item) => {
        const { uid, name, revision } = observedObject(model, item);
        return { namespace: item.metadata.namespace ?? '', name, uid, revision };
      }),
    }));
    this.client.record({
      ...recordOf(exchange),
      model: model.name,
      namespace,
      verb: 'deleteCollection',
      selector,
      outcome,
    });
  }

  /** A request that the server must refuse. */
  async #mistake(key: Key): Promise<void> {
    const sent = { ...this.#sent(key), fields: { 'spec.category': 7 } };
    const exchange = await this.client.exchange({
      method: 'POST',
      path: pathOf(key.model, key.namespace),
      body: JSON.stringify(bodyOf(key.model, key, sent)),
    });
    const outcome = outcomeOf(exchange, (body) => ({ object: observedObject(key.model, body as WireObject) }));
    this.client.record({
      ...recordOf(exchange),
      model: key.model.name,
      namespace: key.namespace,
      provoked: true,
      verb: 'create',
      name: key.name,
      sent,
      outcome,
    });
  }

  async #get(key: Key): Promise<ObservedObject | undefined> {
    const { model, namespace, name } = key;
    const exchange = await this.client.exchange({ path: pathOf(model, namespace, name) });
    const outcome = outcomeOf(exchange, (body) => ({ object: observedObject(model, body as WireObject) }));
    this.client.record({ ...recordOf(exchange), model: model.name, namespace, verb: 'get', name, outcome });
    if (outcome.type !== 'ok') return undefined;
    this.#known.set(idOf(key), outcome.object);
    return outcome.object;
  }

  async #recall(key: Key): Promise<ObservedObject | undefined> {
    return this.#known.get(idOf(key)) ?? this.#get(key);
  }

  /**
   * Sends the request and records it. Some have an Idempotency-Key: those are repeated, on any server, until their
   * outcome is known, and sometimes even after that. Some are cut by the client before the response.
   */
  async #perform(
    key: Key,
    { method, path, body, headers }: Request,
    record: (exchange: Exchange) => object & { outcome?: Outcome<object> },
  ): Promise<void> {
    const random = this.#random;
    const idempotencyKey = random.chance(0.2) ? `${this.#marker()}-key` : undefined;
    const all = { ...headers, ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }) };
    for (let i = 0; i <= repetitions; i += 1) {
      const cut = random.chance(0.01) ? { cutAfterMs: random.below(12) } : {};
      const exchange = await this.client.exchange({
        method,
        path,
        ...(body === undefined ? {} : { body }),
        headers: all,
        ...cut,
      });
      const { model, namespace } = key;
      const operation = {
        ...recordOf(exchange),
        model: model.name,
        namespace,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        ...record(exchange),
      } as Operation;
      this.client.record(operation);
      const { outcome } = operation;
      const isUnderWay = outcome.type === 'refused' && outcome.retryAfter === true;
      if (idempotencyKey === undefined || this.#isOver) return;
      if (outcome.type !== 'unknown' && !isUnderWay && !random.chance(0.15)) return;
      await delay(100 + random.below(400));
    }
  }
}

function ifMatch({ expected, ifMatch: asHeader }: Precondition): Record<string, string> {
  return asHeader === true && expected !== undefined ? { 'if-match': `"${expected}"` } : {};
}

function idOf({ model, namespace, name }: Key): string {
  return `${model.plural}/${namespace}/${name}`;
}
