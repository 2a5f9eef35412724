import { setTimeout as delay } from 'node:timers/promises';
import { revisionOf, type ServiceClient } from '../service-client.ts';
import { booksPath } from '../fixtures/definitions.ts';

const pauseMs = 50;
const roundSeconds = 20;
const maxProblems = 20;

/** A client that watches, and resumes an ended stream at its last revision, also on another replica. */
export class Follower {
  readonly events: string[] = [];
  readonly problems: string[] = [];
  readonly #over = new AbortController();
  readonly #following: Promise<void>;
  #api: ServiceClient;
  #position: string;

  constructor(api: ServiceClient, position: string) {
    this.#api = api;
    this.#position = position;
    this.#following = this.#follow();
  }

  get position(): string {
    return this.#position;
  }

  moveTo(api: ServiceClient): void {
    this.#api = api;
  }

  async end(): Promise<void> {
    this.#over.abort();
    await this.#following;
  }

  async #follow(): Promise<void> {
    while (!this.#over.signal.aborted) {
      try {
        await this.#api.watch(
          `${booksPath}?watch=true&resourceVersion=${this.#position}&timeoutSeconds=${roundSeconds}`,
          (events) => this.#hear(events),
          this.#over.signal,
        );
      } catch (error) {
        if (this.#over.signal.aborted) return;
        // The server has ended: use the next one.
        if (this.problems.length < maxProblems) this.problems.push(`a watch failed: ${(error as Error).message}`);
      }
      await delay(pauseMs);
    }
  }

  #hear(events: Parameters<Parameters<ServiceClient['watch']>[1]>[0]): boolean {
    for (const { type, object } of events.splice(0)) {
      if (type === 'ERROR') this.problems.push(`a watch was refused: ${JSON.stringify(object)}`);
      else {
        const revision = revisionOf(object);
        if (BigInt(revision) <= BigInt(this.#position)) this.problems.push(`${revision} came after ${this.#position}`);
        this.#position = revision;
        this.events.push(`${revision} ${type} ${object.metadata.name}`);
      }
    }
    return false;
  }
}
