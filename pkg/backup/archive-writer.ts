import { createHash, type Hash } from 'node:crypto';

/**
 * The uncompressed form of a backup: lines of JSON, and between them the rows of tables in blocks. A block is a line
 * with its length in bytes, followed by the bytes; length 0 ends a table. The last line has the SHA-256 of all before
 * it.
 */
export class ArchiveWriter {
  readonly #hash: Hash = createHash('sha256');
  /** Written so far. */
  bytes = 0;

  line(value: object): Buffer {
    return this.#counted(Buffer.from(`${JSON.stringify(value)}\n`));
  }

  /** The parts of one block, in order. */
  block(rows: Buffer): Buffer[] {
    return [this.#counted(Buffer.from(`${rows.length}\n`)), this.#counted(rows)];
  }

  endOfRows(): Buffer {
    return this.#counted(Buffer.from('0\n'));
  }

  /** The last line. */
  end(totals: { tables: number; rows: number }): Buffer {
    return Buffer.from(`${JSON.stringify({ end: totals, sha256: this.#hash.copy().digest('hex') })}\n`);
  }

  #counted(part: Buffer): Buffer {
    this.#hash.update(part);
    this.bytes += part.length;
    return part;
  }
}
