import { open, stat, type FileHandle } from 'node:fs/promises';
import type { Logger } from 'pino';
import { OperatorError } from '../options/operator-error.ts';

/** Bytes that wait for a file that takes no more, as on a full disk; further events are dropped. */
export const maxWaitingBytes = 16 * 1024 * 1024;
const maxChunkBytes = 1024 * 1024;
const newLine = 0x0a;
/** How long a write waits after a failure. */
const retryMs = 1000;
/** How often the path is looked at, at most. */
const lookEveryMs = 1000;

export interface AuditFileOptions {
  log: Logger;
  /** Called with the number of events that were dropped. */
  onDropped: (count: number) => void;
}

/**
 * Appends events to a file, one in each line. If the file was moved away or removed, as by logrotate, an event at most a
 * second later makes it again. No request waits for the file: a crash may lose its last events, and while it cannot be
 * written they wait in memory.
 */
export class AuditFile {
  readonly #path: string;
  readonly #options: AuditFileOptions;
  #file: FileHandle;
  #lookedAt = performance.now();
  #waiting: Buffer[] = [];
  /** Written bytes of the first line, of which the disk took a part. */
  #bytesOfFirst = 0;
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasFailed = false;
  #isClosing = false;

  /** Makes the file, with mode 0600, if it is missing. @throws OperatorError if it cannot be opened */
  static async open(path: string, options: AuditFileOptions): Promise<AuditFile> {
    const file = await openToAppend(path).catch((error: NodeJS.ErrnoException) => {
      throw new OperatorError(`svc.audit.log-file cannot be opened: ${path} (${error.code ?? error.message}).`, {
        cause: error,
      });
    });
    return new AuditFile(path, file, options);
  }

  private constructor(path: string, file: FileHandle, options: AuditFileOptions) {
    this.#path = path;
    this.#file = file;
    this.#options = options;
  }

  readonly write = (event: string): void => {
    const line = Buffer.from(`${event}\n`);
    if (this.#isClosing || this.#waitingBytes + line.length > maxWaitingBytes) {
      this.#options.onDropped(1);
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    this.#begin();
  };

  /** Writes what waits, once, and closes the file; what cannot be written is dropped. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    await this.#writing;
    await this.#writeWaiting();
    if (this.#waiting.length > 0) this.#options.onDropped(this.#waiting.length);
    await this.#file.close();
  }

  #begin(): void {
    if (this.#writing !== undefined || this.#timer !== undefined) return;
    this.#writing = this.#writeWaiting().finally(() => {
      this.#writing = undefined;
      // An event may have come since the last look.
      if (this.#waiting.length > 0 && !this.#isClosing) this.#begin();
    });
  }

  /** Never rejects: what cannot be written is tried again. */
  async #writeWaiting(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        await this.#followPath();
        const chunk = this.#nextChunk();
        const { bytesWritten } = await this.#file.write(chunk);
        this.#remove(bytesWritten);
        this.#hasFailed = false;
      }
    } catch (error) {
      if (!this.#hasFailed)
        this.#options.log.warn({ err: error, file: this.#path }, 'could not write to the audit file; trying again');
      this.#hasFailed = true;
      if (this.#isClosing) return;
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#begin();
      }, retryMs).unref();
    }
  }

  /** Opens the file again if another one, or none, is at its path. */
  async #followPath(): Promise<void> {
    if (performance.now() - this.#lookedAt < lookEveryMs) return;
    const [opened, found] = await Promise.all([this.#file.stat(), stat(this.#path).catch(() => undefined)]);
    if (found?.ino !== opened.ino || found.dev !== opened.dev) {
      const old = this.#file;
      this.#file = await openToAppend(this.#path);
      this.#bytesOfFirst = 0;
      await old.close();
    }
    this.#lookedAt = performance.now();
  }

  #nextChunk(): Buffer {
    let count = 0;
    let bytes = 0;
    while (count < this.#waiting.length && bytes < maxChunkBytes) bytes += this.#waiting[count++]!.length;
    return Buffer.concat(this.#waiting.slice(0, count), bytes).subarray(this.#bytesOfFirst);
  }

  #remove(bytes: number): void {
    let left = this.#bytesOfFirst + bytes;
    let count = 0;
    while (count < this.#waiting.length && this.#waiting[count]!.length <= left) left -= this.#waiting[count++]!.length;
    for (const { length } of this.#waiting.splice(0, count)) this.#waitingBytes -= length;
    this.#bytesOfFirst = left;
  }
}

/** A line that a full disk cut is ended, so that the next one can be read. */
async function openToAppend(path: string): Promise<FileHandle> {
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
    if (size > 0 && buffer[0] !== newLine) await file.write('\n');
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}
