import { randomInt } from 'node:crypto';

/**
 * Addresses of this machine, like those that a cluster assigns to pods and services, so that all can use their usual
 * ports. Each run uses a random network, so that parallel runs do not clash.
 */
export class LoopbackAddresses {
  readonly #network = `127.${randomInt(64, 250)}.${randomInt(1, 250)}`;
  #next = 1;

  /** A new address. Throws if none is left. */
  take(): string {
    if (this.#next > 254) throw new Error(`all addresses of ${this.#network}.0 are taken`);
    const address = `${this.#network}.${this.#next}`;
    this.#next += 1;
    return address;
  }
}
