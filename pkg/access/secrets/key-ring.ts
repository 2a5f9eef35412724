import type { DatabaseLog } from '#pkg/database/index';
import type { KeyFile } from './key-file.ts';
import { SecretKeyError } from './secret-error.ts';
import type { SecretKey } from './secret-key.ts';

/**
 * The keys: the first, the primary one, seals; all can open. Keys from a file are read again after a change, when
 * needed, without a restart. A file that cannot be read leaves the keys unchanged, and is read again at the next need;
 * each reason is logged once.
 */
export class KeyRing {
  /** Absent if an option holds the keys. */
  readonly file: KeyFile | undefined;
  #held: readonly SecretKey[];
  readonly #log: DatabaseLog | undefined;
  #version: string | undefined;
  #refusal: string | undefined;

  /** Without keys nothing can be opened or sealed until the file exists. */
  constructor(keys: readonly SecretKey[], file?: KeyFile, log?: DatabaseLog) {
    this.#held = keys;
    this.file = file;
    this.#log = log;
  }

  get isEmpty(): boolean {
    return this.#held.length === 0;
  }

  /** Throws SecretKeyError if there is none. */
  get primary(): SecretKey {
    const [primary] = this.#held;
    if (primary === undefined) throw new SecretKeyError(missingKey(this.file));
    return primary;
  }

  get keys(): readonly SecretKey[] {
    return this.#held;
  }

  find(id: string): SecretKey | undefined {
    return this.#held.find((key) => key.id === id);
  }

  /** Reads the file if it was changed; true if the keys are different now. */
  refresh(): boolean {
    const before = this.#ids();
    try {
      const version = this.file?.version();
      if (version === undefined || version === this.#version) return false;
      const held = this.file?.read() ?? [];
      if (held.length > 0) this.#held = held;
      this.#version = version;
      this.#refusal = undefined;
    } catch (error) {
      this.#logRefusal(error);
      return false;
    }
    return this.#ids() !== before;
  }

  #logRefusal(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (reason !== this.#refusal)
      this.#log?.warn({ reason }, 'the changed key file cannot be used; the previous keys stay in use');
    this.#refusal = reason;
  }

  #ids(): string {
    return this.#held.map(({ id }) => id).join();
  }
}

function missingKey(file: KeyFile | undefined): string {
  if (file === undefined) return 'There is no key to seal secrets with.';
  return `The secrets in this database are sealed with a key, and there is none in ${file.path}; bring that file back, or set svc.security.key.`;
}
