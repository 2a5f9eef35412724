import type { Client } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';

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
export class CrashScheduler {
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

/** A client whose every write is a step of the killer. */
export function interruptedClient(client: Client, killer: CrashScheduler): Client {
  return wrapClient(client, { write: ({ options }, send) => killer.step(() => send(options)) });
}
