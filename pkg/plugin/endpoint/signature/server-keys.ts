import type { KeyObject } from 'node:crypto';
import type { Reader, Stored } from '#pkg/apimachinery/index';
import type { Lease } from '#pkg/runtime/index';
import { expiryOf, keyAnnotation, listIdentities, parsePublicKey } from './identity-lease.ts';

interface ServerKey {
  text: string;
  key: KeyObject;
  /** Milliseconds since 1970; NaN never was good. */
  expiry: number;
}

/** After so long what is known is read anew. Milliseconds. */
const freshMs = 10_000;
/** While the API cannot be asked it counts for as long as this. */
const longestTrustMs = 60_000;
const shortestPauseMs = 1000;
const requestMs = 5000;

export interface ServerKeysOptions {
  client: Pick<Reader, 'list'>;
  /** Milliseconds since 1970. Default: this machine's clock. */
  now?: () => number;
}

/**
 * The public keys of the API servers that are there: read anew for a name that is not known, and after 10 s for one
 * that is, at most once a second.
 */
export class ServerKeys {
  readonly #client: Pick<Reader, 'list'>;
  readonly #now: () => number;
  #known = new Map<string, ServerKey>();
  /** By `performance.now()`, as is the next. */
  #readAt = -Infinity;
  #askedAt = -Infinity;
  #reading: Promise<void> | undefined;

  constructor({ client, now = Date.now }: ServerKeysOptions) {
    this.#client = client;
    this.#now = now;
  }

  /** Undefined where no server that is there has this name. Rejects where that cannot be told. */
  async find(name: string): Promise<KeyObject | undefined> {
    const now = performance.now();
    const isWanted = now - this.#readAt > freshMs || !this.#known.has(name);
    if (isWanted && now - this.#askedAt > shortestPauseMs) this.#reading ??= this.#read();
    await this.#reading;
    if (performance.now() - this.#readAt > longestTrustMs) throw new Error('the keys of API servers are not known');
    const found = this.#known.get(name);
    return found !== undefined && found.expiry >= this.#now() ? found.key : undefined;
  }

  async #read(): Promise<void> {
    try {
      const leases = await listIdentities(this.#client, AbortSignal.timeout(requestMs));
      this.#known = new Map(leases.flatMap((lease) => this.#keyOf(lease)));
      this.#readAt = performance.now();
    } catch (error) {
      // What was read a moment ago is still good.
      if (performance.now() - this.#readAt > longestTrustMs) throw error;
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
