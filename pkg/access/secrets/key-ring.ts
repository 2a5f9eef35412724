import type { DatabaseLog } from '#pkg/database/index';
import type { KeyFile } from './key-file.ts';
import { SecretKeyError } from './secret-error.ts';
import type { SecretKey } from './secret-key.ts';

/**
 * The keys there are: the first, the primary, seals; all open. With a file it follows the file: a replaced one is read
 * where it matters, without a restart. What cannot be read then changes nothing, and is read again when it matters
 * next; the log says why, once for each reason.
 */
export class KeyRing {
  /** Absent where the keys were given by an option. */
  readonly file: KeyFile | undefined;
  #held: readonly SecretKey[];
  readonly #log: DatabaseLog | undefined;
  #version: string | undefined;
  #refusal: string | undefined;

  /** Without a key nothing opens, and nothing is sealed, until the file is there. */
  constructor(keys: readonly SecretKey[], file?: KeyFile, log?: DatabaseLog) {
    this.#held = keys;
    this.file = file;
    this.#log = log;
  }

  get isEmpty(): boolean {
    return this.#held.length === 0;
  }

  /** Throws SecretKeyError where there is none. */
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

  /** Reads the file if it is another one than before; true where the keys are others now. */
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
      this.#tell(error);
      return false;
    }
    return this.#ids() !== before;
  }

  #tell(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (reason !== this.#refusal)
      this.#log?.warn({ reason }, 'the key file was changed and cannot be used; the keys of before go on');
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
