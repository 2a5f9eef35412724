import { createHash, type Hash } from 'node:crypto';
import { BackupError } from './backup-error.ts';

const maxLineBytes = 1024 * 1024;
const maxBlockBytes = 16 * 1024 * 1024;

/** Reads what ArchiveWriter wrote, piece by piece, and validates everything. Every refusal is a BackupError. */
export class ArchiveReader {
  readonly #source: AsyncIterator<Buffer>;
  readonly #hash: Hash = createHash('sha256');
  /** Read but not yet consumed. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** A line of JSON; undefined for an invalid one. */
  async line(): Promise<unknown> {
    return parsed(this.#taken(await this.#line()));
  }

  /** The blocks of one table, each in pieces as they arrive; must be read to the end. */
  async *rows(): AsyncGenerator<Buffer> {
    for (;;) {
      const text = this.#taken(await this.#line()).toString('latin1');
      if (!/^(?:0|[1-9]\d{0,8})\n$/.test(text) || Number(text) > maxBlockBytes) throw damaged();
      let left = Number(text);
      if (left === 0) return;
      while (left > 0) {
        if (this.#rest.length === 0) await this.#more();
        const piece = this.#taken(this.#take(Math.min(left, this.#rest.length)));
        left -= piece.length;
        yield piece;
      }
    }
  }

  /** Reads the last line: it must match what was read, and nothing may follow. */
  async end(totals: { tables: number; rows: number }): Promise<void> {
    const digest = this.#hash.copy().digest('hex');
    const last = parsed(await this.#line()) as { end?: Partial<typeof totals>; sha256?: unknown } | undefined | null;
    if (last?.sha256 !== digest || last.end?.tables !== totals.tables || last.end.rows !== totals.rows) throw damaged();
    if (this.#rest.length > 0 || (await this.#source.next()).done !== true) throw damaged();
  }

  async #line(): Promise<Buffer> {
    for (let from = 0; ;) {
      const end = this.#rest.indexOf(10, from);
      if (end !== -1) return this.#take(end + 1);
      from = this.#rest.length;
      if (from > maxLineBytes) throw damaged();
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#source.next();
    if (done === true) throw new BackupError('The backup is incomplete: it was cut short.');
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }

  #taken(part: Buffer): Buffer {
    this.#hash.update(part);
    return part;
  }
}

export function damaged(): BackupError {
  return new BackupError('The backup is damaged: its content has changed since it was written.');
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
}
