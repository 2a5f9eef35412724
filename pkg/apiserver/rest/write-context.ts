import type { Fence } from '#pkg/apimachinery/index';
import { systemMasters, type UserInfo } from '#pkg/identity/index';
import type { IdempotencyKey, ReadRoom, StoreWriteOptions } from '#pkg/storage/index';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface WriteMemory {
  /** For the object as it is stored. */
  room: ReadRoom;
  /**
   * Resolves when an object of so many bytes may be parsed and made anew, with what ends that. `isPatient`: the request
   * has begun to change things, and is not to be refused any more.
   */
  parse(bytes: number, options?: { isPatient?: boolean }): Promise<() => void>;
}

export interface WriteContextOptions {
  user: UserInfo;
  signal: AbortSignal;
  /** Default false. */
  dryRun?: boolean;
  /** Default `Ignore`. */
  fieldValidation?: FieldValidation;
  idempotency?: IdempotencyKey | undefined;
  fence?: Fence | undefined;
  requestId?: string | undefined;
  memory?: WriteMemory | undefined;
  /** Receives each warning once. Default: nobody does. */
  warn?: ((text: string) => void) | undefined;
}

/**
 * What a write knows of its request, whatever the verb. A request has one, which its attempts, the steps of the write,
 * strategies and the store share.
 */
export class WriteContext implements StoreWriteOptions {
  readonly user: UserInfo;
  readonly signal: AbortSignal;
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  /**
   * What decoding the body found: `duplicate field "spec.tags"`. Reported with the unknown fields, as `fieldValidation`
   * says.
   */
  readonly findings: string[] = [];
  /** Of a request with an Idempotency-Key that changes one object; never of a dry run, which remembers nothing. */
  readonly idempotency?: IdempotencyKey;
  /** The write is made only while this lease has not passed on: 409 afterwards. */
  readonly fence?: Fence;
  /** For the log. Absent where the platform writes by itself. */
  readonly requestId?: string;
  /** What the write takes of the process's memory. Absent where no request is answered. */
  readonly memory: WriteMemory | undefined;
  readonly #sendWarning: ((text: string) => void) | undefined;
  #warned: Set<string> | undefined;

  constructor(options: WriteContextOptions) {
    this.user = options.user;
    this.signal = options.signal;
    this.dryRun = options.dryRun ?? false;
    this.fieldValidation = options.fieldValidation ?? 'Ignore';
    this.memory = options.memory;
    this.#sendWarning = options.warn;
    if (options.idempotency !== undefined) this.idempotency = options.idempotency;
    if (options.fence !== undefined) this.fence = options.fence;
    if (options.requestId !== undefined) this.requestId = options.requestId;
  }

  /** For the Warning headers of the answer. A text that a new attempt repeats is reported once. */
  warn(text: string): void {
    if (this.#warned?.has(text) === true) return;
    (this.#warned ??= new Set()).add(text);
    this.#sendWarning?.(text);
  }
}

/** The platform itself, when it writes on its own behalf. */
const systemUser: UserInfo = { name: 'system:apiserver', uid: '', groups: [systemMasters] };

export function systemWrite(signal: AbortSignal): WriteContext {
  return new WriteContext({ user: systemUser, signal });
}
