import { StatusError } from '#pkg/apimachinery/index';

/** Longest line, in characters. */
const maxLineLength = 64 * 1024 * 1024;

/**
 * The lines of a body, in batches as they arrive, an empty batch for a heartbeat; without an unterminated last line.
 * Does not read ahead of its consumer. @throws StatusError 500 for a line that is too long; what the body throws
 */
export async function* readLines(
  body: ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>,
): AsyncGenerator<string[]> {
  const reader = (await body).getReader();
  const decoder = new TextDecoder();
  let begun = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (begun + decoder.decode(value, { stream: true })).split('\n');
      begun = lines.pop()!;
      if (begun.length > maxLineLength)
        throw new StatusError(500, 'InternalError', 'the server sent a line that is too long');
      yield lines.filter((line) => line !== '');
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
