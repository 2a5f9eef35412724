import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';

/** A backup parsed into lines and rows, which a test can forge and write again with a valid checksum. */
export interface PlainTable {
  line: Record<string, unknown>;
  rows: Buffer;
  count: Record<string, unknown>;
}

export interface PlainArchive {
  header: Record<string, unknown>;
  tables: PlainTable[];
  totals: { tables: number; rows: number };
}

export function splitArchive(archive: Buffer): PlainArchive {
  const plain = gunzipSync(archive);
  let at = 0;
  const text = (): string => {
    const end = plain.indexOf(10, at);
    const line = plain.subarray(at, end).toString();
    at = end + 1;
    return line;
  };
  const line = (): Record<string, unknown> => JSON.parse(text()) as Record<string, unknown>;
  const header = line();
  const tables: PlainTable[] = [];
  for (let next = line(); ; next = line()) {
    if ('end' in next) return { header, tables, totals: next['end'] as PlainArchive['totals'] };
    const blocks: Buffer[] = [];
    for (let length = Number(text()); length > 0; length = Number(text())) {
      blocks.push(plain.subarray(at, at + length));
      at += length;
    }
    tables.push({ line: next, rows: Buffer.concat(blocks), count: line() });
  }
}

export function joinArchive({ header, tables, totals }: PlainArchive): Buffer {
  const json = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);
  const parts = [json(header)];
  for (const { line, rows, count } of tables) {
    parts.push(json(line));
    for (let i = 0; i < rows.length; i += 1024 * 1024) {
      const block = rows.subarray(i, i + 1024 * 1024);
      parts.push(Buffer.from(`${block.length}\n`), block);
    }
    parts.push(Buffer.from('0\n'), json(count));
  }
  const plain = Buffer.concat(parts);
  return gzipSync(
    Buffer.concat([plain, json({ end: totals, sha256: createHash('sha256').update(plain).digest('hex') })]),
    { level: 1 },
  );
}
