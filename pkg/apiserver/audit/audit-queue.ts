import type { Logger } from 'pino';
import type { AuditLog, AuditRecord } from '#pkg/audit/index';
import { isStorageError } from '#pkg/storage/index';
import { newNotice, RefusalCounts } from './refusal-counts.ts';
import type { AuditOutput } from './request-audit.ts';

const maxRecords = 10_000;
/** Characters of events. */
const maxLength = 16 * 1024 * 1024;
/** Rows of one statement. */
const chunkRecords = 256;
const chunkLength = 1_000_000;
const writeEveryMs = 1000;
const countEveryMs = 60_000;

export interface AuditQueueOptions {
  log: Pick<AuditLog, 'append'>;
  logger: Logger;
  /** Called with the number of records that were dropped. */
  onDropped?: ((count: number) => void) | undefined;
  /** Also gets what is dropped. Default: none. */
  output?: AuditOutput | undefined;
}

/**
 * Records of requests that wrote nothing, on their way to the log: it takes no lock and delays no request. When it is
 * full, as in an outage of the database, it drops new records, and says in a row how many.
 */
export class AuditQueue {
  readonly #options: AuditQueueOptions;
  /** 401 and 429 before the user was known, by network. */
  readonly unknown = new RefusalCounts({ perOwner: 2 });
  /** 403, by user, verb and resource; 429, by user and network. */
  readonly known = new RefusalCounts({ perOwner: 50 });
  #waiting: AuditRecord[] = [];
  #length = 0;
  #dropped = 0;
  #writing: Promise<void> | undefined;
  #hasFailed = false;
  #timer: NodeJS.Timeout | undefined;
  #countedAt = performance.now();

  constructor(options: AuditQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.length;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#tick(), writeEveryMs).unref();
  }

  add(record: AuditRecord): void {
    this.#options.output?.(record.event);
    if (this.#waiting.length >= maxRecords || this.#length + record.event.length > maxLength) {
      this.#dropped += 1;
      this.#options.onDropped?.(1);
      return;
    }
    this.#waiting.push(record);
    this.#length += record.event.length;
  }

  /** Writes what waits, once; resolves when that is done, whether it succeeded or not. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    this.#takeCounts();
    await this.#write();
  }

  async #tick(): Promise<void> {
    if (this.#writing !== undefined) return;
    if (performance.now() - this.#countedAt >= countEveryMs) this.#takeCounts();
    this.#writing = this.#write();
    await this.#writing;
    this.#writing = undefined;
  }

  #takeCounts(): void {
    this.#countedAt = performance.now();
    for (const record of [...this.unknown.take(), ...this.known.take()]) this.add(record);
  }

  /** Never rejects: what could not be written waits for the next time. */
  async #write(): Promise<void> {
    const { log, logger } = this.#options;
    while (this.#waiting.length > 0 || this.#dropped > 0) {
      const dropped = this.#dropped;
      const chunk = this.#nextChunk();
      const notices =
        dropped === 0 ? [] : [newNotice(`${dropped} records were dropped, because the queue was full`, dropped)];
      try {
        await log.append([...notices, ...chunk]);
      } catch (error) {
        if (isStorageError(error, 'InvalidKey')) {
          await this.#writeSingly(chunk);
          continue;
        }
        if (!this.#hasFailed)
          logger.warn({ err: error, waiting: this.#waiting.length }, 'could not write audit records; trying again');
        this.#hasFailed = true;
        return;
      }
      this.#hasFailed = false;
      this.#dropped -= dropped;
      this.#remove(chunk);
    }
  }

  /** Drops what PostgreSQL does not take, so that one record cannot stop the others. */
  async #writeSingly(chunk: readonly AuditRecord[]): Promise<void> {
    for (const record of chunk) {
      await this.#options.log.append([record]).catch((error: unknown) => {
        this.#options.logger.error({ err: error, auditId: record.id }, 'dropped an audit record that cannot be stored');
        this.#options.onDropped?.(1);
      });
      this.#remove([record]);
    }
  }

  #remove(chunk: readonly AuditRecord[]): void {
    this.#waiting = this.#waiting.slice(chunk.length);
    for (const { event } of chunk) this.#length -= event.length;
  }

  #nextChunk(): AuditRecord[] {
    const chunk: AuditRecord[] = [];
    let length = 0;
    for (const record of this.#waiting) {
      if (chunk.length === chunkRecords || (chunk.length > 0 && length + record.event.length > chunkLength)) break;
      chunk.push(record);
      length += record.event.length;
    }
    return chunk;
  }
}
