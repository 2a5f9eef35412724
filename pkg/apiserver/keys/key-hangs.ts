import { StorageError } from '#pkg/storage/index';

/** After this many hangs within the pause the script does not run until the pause is over. */
const maxHangs = 4;
/** Milliseconds. */
const pauseMs = 60_000;
/** Scripts remembered. */
const maxScripts = 1000;

/** Counts how often a script has made its process hang, since other scripts wait meanwhile. */
export class KeyHangs {
  readonly #scripts = new Map<string, { count: number; at: number }>();
  readonly #now: () => number;

  /** @param now milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  add(hash: string): void {
    const count = this.#countOf(hash) + 1;
    this.#scripts.delete(hash);
    this.#scripts.set(hash, { count, at: this.#now() });
    if (this.#scripts.size > maxScripts) this.#scripts.delete(this.#scripts.keys().next().value!);
  }

  /** @throws StorageError KeysUnavailable while the script must not run */
  check(hash: string): void {
    if (this.#countOf(hash) >= maxHangs)
      throw new StorageError(
        'KeysUnavailable',
        'the functions that compute keys have hung too often: try again in a minute',
      );
  }

  #countOf(hash: string): number {
    const last = this.#scripts.get(hash);
    return last === undefined || this.#now() - last.at >= pauseMs ? 0 : last.count;
  }
}
