import type { Readable } from 'node:stream';
import { StatusError } from '#pkg/apimachinery/index';

export interface LineLimits {
  /** Maximum length of a line. Bytes. */
  maxBytes: number;
  /** A source that sends nothing for this long while the reader waits is destroyed. Milliseconds. */
  idleTimeoutMs: number;
}

/**
 * The lines of a stream, in batches as they arrive; omits empty lines and an unterminated last one. Does not read ahead
 * of the consumer. Ends or fails with the stream.
 * @throws StatusError 500 for a line that is too long
 */
export async function* readLines(source: Readable, { maxBytes, idleTimeoutMs }: LineLimits): AsyncGenerator<string[]> {
  const chunks = source.iterator({ destroyOnReturn: true }) as AsyncIterator<Buffer>;
  let begun: Buffer[] = [];
  let size = 0;
  try {
    for (;;) {
      const silence = setTimeout(() => source.destroy(), idleTimeoutMs);
      const next = await chunks.next().catch(() => undefined);
      clearTimeout(silence);
      if (next === undefined || next.done === true) return;
      let rest = next.value;
      const lines: string[] = [];
      for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
        const line =
          begun.length === 0
            ? rest.toString('utf8', 0, end)
            : Buffer.concat([...begun, rest.subarray(0, end)]).toString('utf8');
        if (line !== '') lines.push(line);
        begun = [];
        size = 0;
        rest = rest.subarray(end + 1);
      }
      if (rest.length > 0) begun.push(rest);
      size += rest.length;
      if (lines.length > 0) yield lines;
      if (size > maxBytes)
        throw new StatusError(500, 'InternalError', `the server sent a line of more than ${maxBytes} bytes`);
    }
  } finally {
    source.destroy();
  }
}
