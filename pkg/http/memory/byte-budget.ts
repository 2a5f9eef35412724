import { BytePool } from './byte-pool.ts';

export interface ByteBudgetOptions {
  /** Bodies that arrive or wait, what lists and reads have in memory, and answers until they are sent. */
  total: number;
  /** Of them, of one user. Default: half. */
  perUser?: number;
  /** Bodies and objects in their parsed form, all that is made of them included. */
  parsed: number;
  /** How long a request may wait for others to end. Milliseconds, default 1000; 0 refuses at once. */
  maxWaitMs?: number;
}

/** Bodies and answers up to this size are not counted: their number is limited. */
export const uncountedBytes = 64 * 1024;
/** Bodies up to this size are parsed without waiting. */
export const unparsedBytes = 16 * 1024;

/** The memory that the requests of a process may take together: those of both services of `svc serve`. */
export class ByteBudget {
  readonly moved: BytePool;
  readonly parsed: BytePool;
  readonly maxWaitMs: number;

  constructor({ total, perUser = total / 2, parsed, maxWaitMs = 1000 }: ByteBudgetOptions) {
    this.moved = new BytePool({ total, perOwner: perUser });
    this.parsed = new BytePool({ total: parsed });
    this.maxWaitMs = maxWaitMs;
  }
}

/**
 * What a body of so many bytes takes while it is parsed, validated and stored, at most: texts of it in several forms,
 * each of two bytes a character where one character needs them, and up to 100 000 values. Checked by
 * test/system/tenants.
 */
export function parsedBytesOf(bytes: number): number {
  return 10 * bytes + 50 * Math.min(bytes, 400_000);
}
