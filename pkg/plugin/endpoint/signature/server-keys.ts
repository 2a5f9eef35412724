import type { KeyObject } from 'node:crypto';
import type { Reader, Stored } from '#pkg/apimachinery/index';
import type { Lease } from '#pkg/runtime/index';
import { expiryOf, keyAnnotation, listIdentities, parsePublicKey } from './identity-lease.ts';

interface ServerKey {
  text: string;
  key: KeyObject;
  /** Milliseconds since 1970; NaN if it was never valid. */
  expiry: number;
}

/** Age after which keys are read again. Milliseconds. */
const freshMs = 10_000;
/** How long keys stay valid while the API cannot be read. Milliseconds. */
const maxTrustMs = 60_000;
const minPauseMs = 1000;
const requestMs = 5000;

export interface ServerKeysOptions {
  client: Pick<Reader, 'list'>;
  /** Milliseconds since 1970. Default: this machine's clock. */
  now?: () => number;
}

/**
 * The public keys of the live API servers. Reads them again for an unknown name, and after 10 s for a known one, at
 * most once a second.
 */
export class ServerKeys {
  readonly #client: Pick<Reader, 'list'>;
  readonly #now: () => number;
  #known = new Map<string, ServerKey>();
  /** By `performance.now()`, as the next one. */
  #readAt = -Infinity;
  #askedAt = -Infinity;
  #reading: Promise<void> | undefined;

  constructor({ client, now = Date.now }: ServerKeysOptions) {
    this.#client = client;
    this.#now = now;
  }

  /** Undefined if no live server has this name. Rejects if the leases cannot be read. */
  async find(name: string): Promise<KeyObject | undefined> {
    const now = performance.now();
    const isWanted = now - this.#readAt > freshMs || !this.#known.has(name);
    if (isWanted && now - this.#askedAt > minPauseMs) this.#reading ??= this.#read();
    await this.#reading;
    if (performance.now() - this.#readAt > maxTrustMs) throw new Error('the keys of API servers are not known');
    const found = this.#known.get(name);
    return found !== undefined && found.expiry >= this.#now() ? found.key : undefined;
  }

  async #read(): Promise<void> {
    try {
      const leases = await listIdentities(this.#client, AbortSignal.timeout(requestMs));
      this.#known = new Map(leases.flatMap((lease) => this.#keyOf(lease)));
      this.#readAt = performance.now();
    } catch (error) {
      // The last read is recent enough.
      if (performance.now() - this.#readAt > maxTrustMs) throw error;
    } finally {
      this.#askedAt = performance.now();
      this.#reading = undefined;
    }
  }

  #keyOf(lease: Stored<Lease>): [string, ServerKey][] {
    const { name, annotations } = lease.metadata;
    const text = annotations?.[keyAnnotation] ?? '';
    const before = this.#known.get(name);
    const key = before?.text === text ? before.key : parsePublicKey(text);
    return key === undefined ? [] : [[name, { text, key, expiry: expiryOf(lease, this.#now()) }]];
  }
}
