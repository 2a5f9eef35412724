import type { Logger } from 'pino';

interface Step {
  readonly name: string;
  readonly stop: () => Promise<void>;
}

/** Stops what was started, in reverse order. */
export class Teardown {
  readonly #log: Logger;
  readonly #steps: Step[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  add(name: string, stop: () => Promise<void>): void {
    this.#steps.push({ name, stop });
  }

  /** Runs all steps one by one, even after failures; true if none failed. */
  async run(): Promise<boolean> {
    let isClean = true;
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.stop();
        this.#log.debug({ step: step.name }, 'stopped');
      } catch (error) {
        isClean = false;
        this.#log.error({ err: error, step: step.name }, 'could not stop cleanly');
      }
    }
    return isClean;
  }
}
