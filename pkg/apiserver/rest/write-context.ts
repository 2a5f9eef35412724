import type { Fence } from '#pkg/apimachinery/index';
import { systemMasters, type UserInfo } from '#pkg/identity/index';
import type { AuditRow, WriteAudit } from '#pkg/audit/index';
import type { IdempotencyKey, ReadBudget, StoreWriteOptions } from '#pkg/storage/index';

/** The manager of what the platform itself writes. */
export const platformManager = 'svc';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface WriteMemory {
  /** For reads of the stored object. */
  readBudget: ReadBudget;
  /**
   * Resolves when there is memory to parse and re-encode an object of this size; the result releases it. `isPatient`:
   * the request has begun to change objects, and must not be rejected any more.
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
  /** Who the fields of the object belong to that the write sets. Default `svc`, for the platform's own writes. */
  fieldManager?: string;
  idempotency?: IdempotencyKey | undefined;
  fence?: Fence | undefined;
  requestId?: string | undefined;
  requestAudit?: WriteAudit | undefined;
  memory?: WriteMemory | undefined;
  /** Receives each warning once. Default: warnings are dropped. */
  warn?: ((text: string) => void) | undefined;
}

/**
 * The request's data for a write of any verb. One per request, shared by its attempts, the steps of the write,
 * strategies and the store.
 */
export class WriteContext implements StoreWriteOptions {
  readonly user: UserInfo;
  readonly signal: AbortSignal;
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  /** In managedFields. */
  readonly fieldManager: string;
  /**
   * Findings of the decoder: `duplicate field "spec.tags"`. Reported with the unknown fields, according to
   * `fieldValidation`.
   */
  readonly findings: string[] = [];
  /** The idempotency key of a request that changes one object; never of a dry run, which stores no outcome. */
  readonly idempotency?: IdempotencyKey;
  /** The write takes place only while the lease has this number of transitions; StatusError 409 otherwise. */
  readonly fence?: Fence;
  /** For the log. Absent for the platform's own writes. */
  readonly requestId?: string;
  /** Records the write. Absent without audit, and for the API server's own writes. */
  readonly requestAudit?: WriteAudit;
  /** Reserves the write's share of the process's memory. Absent outside of requests. */
  readonly memory: WriteMemory | undefined;
  readonly #sendWarning: ((text: string) => void) | undefined;
  #warned: Set<string> | undefined;

  constructor(options: WriteContextOptions) {
    this.user = options.user;
    this.signal = options.signal;
    this.dryRun = options.dryRun ?? false;
    this.fieldValidation = options.fieldValidation ?? 'Ignore';
    this.fieldManager = options.fieldManager ?? platformManager;
    this.memory = options.memory;
    this.#sendWarning = options.warn;
    if (options.idempotency !== undefined) this.idempotency = options.idempotency;
    if (options.fence !== undefined) this.fence = options.fence;
    if (options.requestId !== undefined) this.requestId = options.requestId;
    if (options.requestAudit !== undefined) this.requestAudit = options.requestAudit;
  }

  /** The options of a write with this row. */
  withAudit(audit: AuditRow): StoreWriteOptions {
    const { dryRun, idempotency, fence, requestId, signal } = this;
    return {
      dryRun,
      signal,
      audit,
      ...(idempotency === undefined ? {} : { idempotency }),
      ...(fence === undefined ? {} : { fence }),
      ...(requestId === undefined ? {} : { requestId }),
    };
  }

  /** Adds a Warning header to the response. A text that a new attempt repeats is reported once. */
  warn(text: string): void {
    if (this.#warned?.has(text) === true) return;
    (this.#warned ??= new Set()).add(text);
    this.#sendWarning?.(text);
  }
}

/** The user of the platform's own writes. */
const systemUser: UserInfo = { name: 'system:apiserver', uid: '', groups: [systemMasters] };

export function systemWrite(signal: AbortSignal): WriteContext {
  return new WriteContext({ user: systemUser, signal });
}
