import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceClient, ApiObject, Json } from '../service-client.ts';
import { book, booksPath } from '../fixtures/definitions.ts';

const maxProblems = 20;
const maxCounterAttempts = 50;

/** The present servers. */
export type Targets = () => readonly ServiceClient[];

/**
 * Clients that write through one replica and read through another, each on its own objects: every request must succeed,
 * and a write must be visible immediately. Sometimes they increment a counter in a shared object.
 */
export class Load {
  readonly problems: string[] = [];
  readonly #targets: Targets;
  readonly #workers: Promise<void>[];
  #isOver = false;
  /** Answered requests. */
  requests = 0;
  slowestMs = 0;
  /** Increments so far. */
  counted = 0;

  constructor(targets: Targets, workers: number) {
    this.#targets = targets;
    this.#workers = Array.from({ length: workers }, (_, worker) => this.#work(worker));
  }

  /** Lets all clients finish their work. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#workers);
  }

  /** Resolves once no client uses the previous servers. */
  async settle(): Promise<void> {
    const before = this.#rounds.slice();
    while (!this.#isOver && before.some((rounds, worker) => this.#rounds[worker]! < rounds + 2)) await delay(20);
  }

  readonly #rounds: number[] = [];

  async #work(worker: number): Promise<void> {
    this.#rounds[worker] = 0;
    for (let round = 0; !this.#isOver; round += 1) {
      const targets = this.#targets();
      const at = (step: number): ServiceClient => targets[(worker + round + step) % targets.length]!;
      try {
        await this.#oneLife(at, `load-${worker}-${round}`, round);
        if (round % 5 === 0) await this.#count(at);
      } catch (error) {
        if (this.problems.length < maxProblems) this.problems.push(`a client failed: ${describe(error)}`);
      }
      this.#rounds[worker] = round + 1;
    }
  }

  async #oneLife(at: (step: number) => ServiceClient, name: string, number: number): Promise<void> {
    const path = `${booksPath}/${name}`;
    const created = (await this.#counting(at(0).post(booksPath, book(name, number)))) as unknown as ApiObject & {
      spec: Json;
    };
    const seen = (await this.#counting(at(1).get(path))) as unknown as ApiObject;
    this.#hold(
      seen.metadata.resourceVersion === created.metadata.resourceVersion,
      `${name} was written as ${created.metadata.resourceVersion} and read as ${seen.metadata.resourceVersion}`,
    );
    await this.#counting(at(1).expect('PUT', path, { ...created, spec: { ...created.spec, year: 2050 } }));
    await this.#counting(
      at(0).expect(
        'PATCH',
        `${path}/status`,
        { status: { lent: true } },
        { 'content-type': 'application/merge-patch+json' },
      ),
    );
    const { items } = (await this.#counting(at(1).get(`${booksPath}?fieldSelector=isbn%3Disbn-${name}`))) as {
      items: ApiObject[];
    };
    this.#hold(
      items.length === 1 && items[0]?.metadata.uid === created.metadata.uid,
      `${name} was found ${items.length} times by its index`,
    );
    await this.#counting(at(0).expect('DELETE', path));
    const { status } = await this.#counting(at(1).send('GET', path));
    this.#hold(status === 404, `${name} was deleted and answered ${status}`);
  }

  /** Retries conflicts: a lost increment is detected at the end. */
  async #count(at: (step: number) => ServiceClient): Promise<void> {
    for (let step = 0; step < maxCounterAttempts; step += 1) {
      const counter = (await this.#counting(at(step).get(`${booksPath}/counter`))) as unknown as ApiObject & {
        spec: { year: number };
      };
      const { status } = await this.#counting(
        at(step + 1).send('PUT', `${booksPath}/counter`, {
          ...counter,
          spec: { ...counter.spec, year: counter.spec.year + 1 },
        }),
      );
      if (status === 200) {
        this.counted += 1;
        return;
      }
      if (status !== 409) throw new Error(`counting answered ${status}`);
    }
    throw new Error(`the counter had ${maxCounterAttempts} conflicts in a row`);
  }

  async #counting<T>(request: Promise<T>): Promise<T> {
    const began = performance.now();
    const answer = await request;
    this.slowestMs = Math.max(this.slowestMs, performance.now() - began);
    this.requests += 1;
    return answer;
  }

  #hold(holds: boolean, otherwise: string): void {
    if (!holds && this.problems.length < maxProblems) this.problems.push(otherwise);
  }
}

function describe(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
