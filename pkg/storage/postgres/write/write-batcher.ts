import { formatFence } from '#pkg/apimachinery/index';
import { StorageError } from '../../storage-error.ts';
import type { BatchRunner, PendingWrite } from './batch-runner.ts';
import { fenceKey } from '../table/lease-fence.ts';

const maxOperations = 256;
const maxBytes = 1_000_000;
/** A larger write (bytes) delays the writes in its batch and those that wait for it. */
const largeBytes = 256 * 1024;
/** Models in one statement: the text and the planning time grow with them. */
const maxTables = 8;
/** Different fences in one statement, which reads the lease of each under the revision lock. */
const maxFences = 32;
const maxWaiting = 10_000;
const maxWaitingBytes = 128 * 1024 * 1024;

/**
 * Group commit: writes are collected while one batch is in flight, and sent as the next one. A batch contains each key,
 * each value of a unique index and each idempotency key at most once: further writes of the same wait in order for a
 * later batch. A lease's own writes never share a batch with those that it fences.
 *
 * While large writes wait too, every other batch contains only small ones: a small write never waits for more than one
 * statement of megabytes.
 */
export class WriteBatcher {
  readonly #runner: Pick<BatchRunner, 'run'>;
  /** How long a write may wait to be sent. Milliseconds. */
  readonly #outageLimitMs: number;
  #waiting: PendingWrite[] = [];
  #waitingBytes = 0;
  #isLargeNext = false;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(runner: Pick<BatchRunner, 'run'>, outageLimitMs: number) {
    this.#runner = runner;
    this.#outageLimitMs = outageLimitMs;
  }

  get queueLength(): number {
    return this.#waiting.length;
  }

  get queueBytes(): number {
    return this.#waitingBytes;
  }

  /** The outcome is reported through the write's `done` or `failed`. */
  add(write: PendingWrite): void {
    if (this.#closed) throw new StorageError('Unavailable', 'the store is closed');
    if (this.#waiting.length >= maxWaiting || this.#waitingBytes >= maxWaitingBytes) {
      throw new StorageError('Overloaded', 'too many writes are waiting: try again later');
    }
    this.#waiting.push(write);
    this.#waitingBytes += write.operation.size;
    this.#running ??= this.#drain();
  }

  /** Accepts no more writes; resolves when all waiting writes have their outcome. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #drain(): Promise<void> {
    // Writes of the same turn of the event loop share a batch.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      this.#dropStale();
      await this.#runner.run(this.#take());
    }
    this.#running = undefined;
  }

  /**
   * Fails writes that waited longer than the outage limit: they are not sent after the outage, and their clients must
   * try again.
   */
  #dropStale(): void {
    const oldest = performance.now() - this.#outageLimitMs;
    if ((this.#waiting[0]?.since ?? oldest) >= oldest) return;
    const stale = this.#waiting.filter(({ since }) => since < oldest);
    this.#waiting = this.#waiting.filter(({ since }) => since >= oldest);
    for (const write of stale) write.failed(new StorageError('Unavailable', 'the database did not answer'));
  }

  #take(): PendingWrite[] {
    if (!this.#isLargeNext) {
      const small = this.#gather(isSmall);
      this.#isLargeNext = this.#waiting.some((write) => !isSmall(write));
      if (small.length > 0) return small;
    }
    this.#isLargeNext = false;
    return this.#gather(() => true);
  }

  /** Takes as many of the permitted writes as fit in one batch. */
  #gather(mayGo: (write: PendingWrite) => boolean): PendingWrite[] {
    const batch: PendingWrite[] = [];
    const left: PendingWrite[] = [];
    const taken = new Set<string>();
    const fenced = new Set<string>();
    const tables = new Set<number>();
    let bytes = 0;
    const fences = new Set<string>();
    for (const [i, write] of this.#waiting.entries()) {
      if (batch.length >= maxOperations || bytes >= maxBytes) {
        left.push(...this.#waiting.slice(i));
        break;
      }
      const { exclusives, size, table, fence } = write.operation;
      const lease = fence === undefined ? undefined : fenceKey(fence.namespace, fence.lease);
      const token = fence === undefined ? undefined : formatFence(fence);
      const fits =
        mayGo(write) &&
        (batch.length === 0 || bytes + size <= maxBytes) &&
        (tables.has(table.id) || tables.size < maxTables) &&
        (token === undefined || fences.has(token) || fences.size < maxFences) &&
        (lease === undefined || !taken.has(lease)) &&
        !exclusives.some((exclusive) => taken.has(exclusive) || fenced.has(exclusive));
      // A write that stays keeps its keys reserved, so that no later write of the same key overtakes it.
      for (const exclusive of exclusives) taken.add(exclusive);
      if (lease !== undefined) fenced.add(lease);
      if (!fits) {
        left.push(write);
        continue;
      }
      batch.push(write);
      bytes += size;
      tables.add(table.id);
      if (token !== undefined) fences.add(token);
    }
    this.#waiting = left;
    this.#waitingBytes = left.reduce((sum, write) => sum + write.operation.size, 0);
    return batch;
  }
}

function isSmall({ operation }: PendingWrite): boolean {
  return operation.size <= largeBytes;
}
