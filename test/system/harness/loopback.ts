import { randomInt } from 'node:crypto';

/**
 * Addresses of this machine, as a cluster gives one to each pod and each service, so that all can use the ports they
 * always use. Those of a run are of a network by chance: another run beside it has others.
 */
export class LoopbackAddresses {
  readonly #network = `127.${randomInt(64, 250)}.${randomInt(1, 250)}`;
  #next = 1;

  /** An address nobody was given before. Throws when there is none left. */
  take(): string {
    if (this.#next > 254) throw new Error(`all addresses of ${this.#network}.0 are taken`);
    const address = `${this.#network}.${this.#next}`;
    this.#next += 1;
    return address;
  }
}
