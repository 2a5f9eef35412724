import { open, stat, type FileHandle } from 'node:fs/promises';
import type { Logger } from 'pino';
import { OperatorError } from '../options/operator-error.ts';

/** Bytes that wait for a file that takes no more, as on a full disk; further events are dropped. */
const maxWaitingBytes = 16 * 1024 * 1024;
const maxChunkBytes = 1024 * 1024;
/** After a failure, and between two looks at what is at the path. */
const againMs = 1000;

export interface AuditFileOptions {
  log: Logger;
  /** Called with the number of events that were dropped. */
  onDropped: (count: number) => void;
}

/**
 * Appends events to a file, one in each line. A file that was moved away or removed, as by logrotate, is made again
 * before the next event, within a second. No request waits for the file: a crash may lose its last events, and while it
 * cannot be written they wait in memory.
 */
export class AuditFile {
  readonly #path: string;
  readonly #options: AuditFileOptions;
  #file: FileHandle;
  #lookedAt = performance.now();
  #waiting: Buffer[] = [];
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
    if (this.#waitingBytes + line.length > maxWaitingBytes) {
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
      }, againMs).unref();
    }
  }

  /** Opens the file again if another one, or none, is at its path. */
  async #followPath(): Promise<void> {
    if (performance.now() - this.#lookedAt < againMs) return;
    const [opened, found] = await Promise.all([this.#file.stat(), stat(this.#path).catch(() => undefined)]);
    if (found?.ino !== opened.ino || found.dev !== opened.dev) {
      const old = this.#file;
      this.#file = await openToAppend(this.#path);
      await old.close();
    }
    this.#lookedAt = performance.now();
  }

  #nextChunk(): Buffer {
    let count = 0;
    let bytes = 0;
    while (count < this.#waiting.length && bytes < maxChunkBytes) bytes += this.#waiting[count++]!.length;
    return Buffer.concat(this.#waiting.slice(0, count), bytes);
  }

  /** A disk may take a part of a line; the rest of it is written next. */
  #remove(bytes: number): void {
    this.#waitingBytes -= bytes;
    let left = bytes;
    let done = 0;
    while (left > 0 && this.#waiting[done]!.length <= left) left -= this.#waiting[done++]!.length;
    this.#waiting.splice(0, done);
    if (left > 0) this.#waiting[0] = this.#waiting[0]!.subarray(left);
  }
}

function openToAppend(path: string): Promise<FileHandle> {
  return open(path, 'a', 0o600);
}
