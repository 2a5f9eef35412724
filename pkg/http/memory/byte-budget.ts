import { BytePool } from './byte-pool.ts';

export interface ByteBudgetOptions {
  /** Bodies that arrive or wait, the objects of lists and reads, and answers until they are sent. */
  total: number;
  /** Of `total`, for one user. Default: half. */
  perUser?: number;
  /** Parsed bodies and objects, with everything derived from them. */
  parsed: number;
  /** How long a request may wait for memory. Milliseconds, default 1000; 0 refuses at once. */
  maxWaitMs?: number;
}

/** Bodies and answers up to this size are not counted: the in-flight limits bound their number. */
export const uncountedBytes = 64 * 1024;
/** Bodies up to this size are parsed without waiting. */
export const unparsedBytes = 16 * 1024;

/** The memory that all requests of a process may use: those of both services of `svc serve`. */
export class ByteBudget {
  readonly transfer: BytePool;
  readonly parsed: BytePool;
  readonly maxWaitMs: number;

  constructor({ total, perUser = total / 2, parsed, maxWaitMs = 1000 }: ByteBudgetOptions) {
    this.transfer = new BytePool({ total, perOwner: perUser });
    this.parsed = new BytePool({ total: parsed });
    this.maxWaitMs = maxWaitMs;
  }
}

/**
 * The most memory that a body of this size needs while it is parsed, validated and stored: several texts of two bytes a
 * character (one non-Latin-1 character makes all of them so), and up to 100 000 values. Checked by test/system/tenants.
 */
export function parsedBytesOf(bytes: number): number {
  return 10 * bytes + 50 * Math.min(bytes, 400_000);
}
