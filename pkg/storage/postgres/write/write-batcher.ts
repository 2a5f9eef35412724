import type { Fence } from '#pkg/apimachinery/index';
import { StorageError } from '../../storage-error.ts';
import type { BatchRunner, PendingWrite } from './batch-runner.ts';
import { fenceKey, isSameFence } from '../table/lease-fence.ts';

const maxOperations = 256;
const maxBytes = 1_000_000;
/** A write of more bytes holds up whatever goes with it, or waits for it. */
const largeBytes = 256 * 1024;
/** Models in one statement: its text grows with them, and so does the time to plan it. */
const maxTables = 8;
const maxWaiting = 10_000;
const maxWaitingBytes = 128 * 1024 * 1024;

/**
 * Group commit: writes gather while one batch is in flight, and go as the next one. A batch holds one key, and one
 * value of a unique index and one idempotency key, at most once: later writes of the same wait, in their order, for the next. So
 * do those of a second fence, and a lease's own writes never go with those that it fences.
 *
 * Where large writes wait too, every other batch has small ones only: these never wait for more than one statement of
 * megabytes.
 */
export class WriteBatcher {
  readonly #runner: Pick<BatchRunner, 'run'>;
  /** How long a write may wait to be sent. Milliseconds. */
  readonly #outageLimit: number;
  #waiting: PendingWrite[] = [];
  #waitingBytes = 0;
  #isLargeNext = false;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(runner: Pick<BatchRunner, 'run'>, outageLimit: number) {
    this.#runner = runner;
    this.#outageLimit = outageLimit;
  }

  get queueLength(): number {
    return this.#waiting.length;
  }

  get queueBytes(): number {
    return this.#waitingBytes;
  }

  /** The write's outcome comes through its own `done` or `failed`. */
  add(write: PendingWrite): void {
    if (this.#closed) throw new StorageError('Unavailable', 'the store is closed');
    if (this.#waiting.length >= maxWaiting || this.#waitingBytes >= maxWaitingBytes) {
      throw new StorageError('Overloaded', 'too many writes are waiting: try again later');
    }
    this.#waiting.push(write);
    this.#waitingBytes += write.operation.size;
    this.#running ??= this.#drain();
  }

  /** Takes no more writes; resolves when all that wait have their outcome. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #drain(): Promise<void> {
    // Writes that arrive in the same turn of the event loop go together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      this.#dropStale();
      await this.#runner.run(this.#take());
    }
    this.#running = undefined;
  }

  /** After an outage, what waited through it is not sent any more: its writer has been told to try again. */
  #dropStale(): void {
    const oldest = performance.now() - this.#outageLimit;
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

  /** Of those that may go now, as many as fit in one batch. */
  #gather(mayGo: (write: PendingWrite) => boolean): PendingWrite[] {
    const batch: PendingWrite[] = [];
    const left: PendingWrite[] = [];
    const taken = new Set<string>();
    const fenced = new Set<string>();
    const tables = new Set<number>();
    let bytes = 0;
    let fenceOfBatch: Fence | undefined;
    for (const [i, write] of this.#waiting.entries()) {
      if (batch.length >= maxOperations || bytes >= maxBytes) {
        left.push(...this.#waiting.slice(i));
        break;
      }
      const { exclusives, size, table, fence } = write.operation;
      const lease = fence === undefined ? undefined : fenceKey(fence.namespace, fence.lease);
      const fits =
        mayGo(write) &&
        (batch.length === 0 || bytes + size <= maxBytes) &&
        (tables.has(table.id) || tables.size < maxTables) &&
        (fence === undefined || fenceOfBatch === undefined || isSameFence(fence, fenceOfBatch)) &&
        (lease === undefined || !taken.has(lease)) &&
        !exclusives.some((exclusive) => taken.has(exclusive) || fenced.has(exclusive));
      // A write that stays keeps its places, so that nobody overtakes it on the same key.
      for (const exclusive of exclusives) taken.add(exclusive);
      if (lease !== undefined) fenced.add(lease);
      if (!fits) {
        left.push(write);
        continue;
      }
      batch.push(write);
      bytes += size;
      tables.add(table.id);
      fenceOfBatch ??= fence;
    }
    this.#waiting = left;
    this.#waitingBytes = left.reduce((sum, write) => sum + write.operation.size, 0);
    return batch;
  }
}

function isSmall({ operation }: PendingWrite): boolean {
  return operation.size <= largeBytes;
}
