import { setTimeout as delay } from 'node:timers/promises';
import type { ListOperation } from '../history/history.ts';
import type { SeededRandom } from '../seeded-random.ts';
import { chanceSelector } from './random-objects.ts';
import { outcomeOf, recordOf, type RecordingClient } from './recording-client.ts';
import { readChunks, readList, type ListRequest } from './read-list.ts';
import {
  fleeting,
  namespaces,
  notes,
  observedObject,
  pathOf,
  things,
  type SampleModel,
  type WireObject,
} from './sample-models.ts';

const longestPauseMs = 120;

/**
 * A client that reads single objects, lists, pages and chunks, sometimes with the newest revision that it has seen as
 * minimum.
 */
export class Reader {
  readonly #client: RecordingClient;
  readonly #random: SeededRandom;
  #newest = 0;
  #isOver = false;
  #work: Promise<void> = Promise.resolve();

  constructor(client: RecordingClient) {
    this.#client = client;
    this.#random = client.random.fork('work');
  }

  start(): void {
    this.#work = this.#run();
  }

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
    const random = this.#random;
    const model = random.pick([things, things, things, notes, fleeting]);
    const namespace = model.namespaced && random.chance(0.5) ? random.pick(namespaces) : '';
    const atLeast = this.#newest > 0 && random.chance(0.4) ? { atLeast: this.#newest } : {};
    const request: ListRequest = {
      model,
      namespace,
      selector: chanceSelector(model, random),
      sort: this.#chanceSort(model),
      ...atLeast,
    };
    switch (random.weighted({ get: 4, all: 2, page: 4, chunks: 1 })) {
      case 'all':
        return this.#note((await readList(this.#client, request)).operation);
      case 'page': {
        const paging = { type: 'page' as const, page: 1 + random.below(3), size: 1 + random.below(20) };
        return this.#note((await readList(this.#client, { ...request, paging })).operation);
      }
      case 'chunks':
        // A request with a token must not have a resourceVersion.
        return readChunks(
          this.#client,
          {
            model,
            namespace,
            selector: request.selector,
            ...(request.sort === undefined ? {} : { sort: request.sort }),
          },
          1 + random.below(15),
        );
      default:
        return this.#get(model, atLeast);
    }
  }

  #chanceSort(model: SampleModel): ListOperation['sort'] {
    const sortable = model.indexes.filter(({ multi }) => multi !== true);
    return sortable
      .filter(() => this.#random.chance(0.2))
      .map(({ field }) => ({ field: `spec.${field}`, descending: this.#random.chance(0.5) }));
  }

  #note({ outcome }: ListOperation): void {
    if (outcome.type === 'ok') this.#newest = Math.max(this.#newest, outcome.revision);
  }

  async #get(model: SampleModel, atLeast: { atLeast?: number }): Promise<void> {
    const namespace = model.namespaced ? this.#random.pick(namespaces) : '';
    const name = this.#random.chance(0.5) ? `hot-${this.#random.below(4)}` : `n-${this.#random.below(model.names)}`;
    const query = atLeast.atLeast === undefined ? '' : `?resourceVersion=${atLeast.atLeast}`;
    const exchange = await this.#client.exchange({ path: pathOf(model, namespace, name) + query });
    const outcome = outcomeOf(exchange, (body) => ({ object: observedObject(model, body as WireObject) }));
    this.#client.record({
      ...recordOf(exchange),
      model: model.name,
      namespace,
      verb: 'get',
      name,
      ...atLeast,
      outcome,
    });
    if (outcome.type === 'ok') this.#newest = Math.max(this.#newest, outcome.object.revision);
  }
}
