import { StorageError } from '#pkg/storage/index';

/** So many times within the pause, and the script is not run until it is over. */
const maxHangs = 4;
/** Milliseconds. */
const pauseMs = 60_000;
/** Scripts remembered. */
const maxScripts = 1000;

/** Counts how often scripts have kept their process so that it had to be ended, as others wait meanwhile. */
export class KeyHangs {
  private readonly scripts = new Map<string, { count: number; at: number }>();
  private readonly now: () => number;

  /** @param now milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  add(hash: string): void {
    const count = this.countOf(hash) + 1;
    this.scripts.delete(hash);
    this.scripts.set(hash, { count, at: this.now() });
    if (this.scripts.size > maxScripts) this.scripts.delete(this.scripts.keys().next().value!);
  }

  /** @throws StorageError KeysUnavailable where the script is not to be run for now */
  check(hash: string): void {
    if (this.countOf(hash) >= maxHangs)
      throw new StorageError(
        'KeysUnavailable',
        'the functions that compute keys have hung too often: try again in a minute',
      );
  }

  private countOf(hash: string): number {
    const last = this.scripts.get(hash);
    return last === undefined || this.now() - last.at >= pauseMs ? 0 : last.count;
  }
}
