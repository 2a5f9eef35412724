import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient, NoAnswer } from '../client/api-client.ts';
import { now } from '../history/instant.ts';
import { bodyOf, pathOf, type SampleModel, type WireObject } from './sample-models.ts';

const names = 12;
const pauseMs = 10;
const refusedPauseMs = 100;

/** A write that was acknowledged. */
export interface Acknowledged {
  name: string;
  marker: string;
  revision: number;
  at: number;
}

/** Writes a few objects repeatedly, each time with a new mark, and records acknowledged writes. */
export class MarkedWriter {
  readonly acknowledged: Acknowledged[] = [];
  readonly #options: { id: number; token: string; port: number; model: SampleModel };
  readonly #api: ApiClient;
  readonly #known = new Map<string, number>();
  #count = 0;
  #isOver = false;
  #work: Promise<void> = Promise.resolve();

  constructor(options: { id: number; token: string; port: number; model: SampleModel }) {
    this.#options = options;
    this.#api = new ApiClient({ token: options.token });
  }

  start(): void {
    this.#work = this.#run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#work;
    this.#api.close();
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const isDone = await this.#write().catch((error: unknown) => {
        if (!(error instanceof NoAnswer)) throw error;
        return false;
      });
      await delay(isDone ? pauseMs : refusedPauseMs);
    }
  }

  async #write(): Promise<boolean> {
    const { id, port, model } = this.#options;
    this.#count += 1;
    const name = `w${id}-${this.#count % names}`;
    const marker = `w${id}-write-${this.#count}`;
    const known = this.#known.get(name);
    const body = JSON.stringify(bodyOf(model, { namespace: '', name }, { marker, labels: {}, fields: {} }, known));
    const answer = await this.#api.request(
      known === undefined
        ? { port, method: 'POST', path: pathOf(model), body }
        : { port, method: 'PUT', path: pathOf(model, '', name), body },
    );
    if (answer.status === 200 || answer.status === 201) {
      const revision = Number((JSON.parse(answer.text) as WireObject).metadata.resourceVersion);
      this.#known.set(name, revision);
      this.acknowledged.push({ name, marker, revision, at: now() });
      return true;
    }
    // The state differs from its own: reads again, like a client.
    if ([404, 409].includes(answer.status)) await this.#look(name);
    return false;
  }

  async #look(name: string): Promise<void> {
    const { port, model } = this.#options;
    const answer = await this.#api.request({ port, path: pathOf(model, '', name) });
    if (answer.status === 404) this.#known.delete(name);
    if (answer.status === 200)
      this.#known.set(name, Number((JSON.parse(answer.text) as WireObject).metadata.resourceVersion));
  }
}
