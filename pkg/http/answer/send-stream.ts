import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { EventLoopTurns, newTimeout, whenAborted } from '#pkg/apimachinery/index';
import { acceptsGzip } from '../media-type/accept.ts';
import type { RequestContext } from '../request/request-context.ts';
import { beginAnswer, gzipThresholdBytes, isAnswered, send, type AnswerHeaders } from './respond.ts';

export interface SendStreamOptions {
  /** Default `application/json`. */
  contentType?: string;
  headers?: AnswerHeaders;
  /** How long a client may take to read what was written before it is cut off; default 60 s. */
  stallTimeoutMs?: number;
}

/**
 * Streams a body at the client's pace; the whole body need never be in memory.
 *
 * The first 128 KiB are held back: a shorter body is sent with its length, and a failure before then is still answered
 * with its own status. A later failure, or a client that stops reading, destroys the connection, which the client sees
 * as a truncated body. When the client is gone, the source's `return` is called; a source that waits must itself watch
 * `context.signal`.
 */
export async function sendStream(
  context: RequestContext,
  status: number,
  chunks: AsyncIterable<string | Buffer>,
  options: SendStreamOptions = {},
): Promise<void> {
  const { contentType = 'application/json', headers, stallTimeoutMs = 60_000 } = options;
  const { request, response } = context;
  const pieces = joined(chunks);
  try {
    const first = await pieces.next();
    const second = first.done === true ? first : await pieces.next();
    if (second.done === true)
      return await send(context, status, contentType, first.done === true ? '' : first.value, headers);
    if (isAnswered(response)) return;
    // Pieces in four states: arrived, joined, compressed, being sent.
    context.bytes.raiseTo(4 * gzipThresholdBytes);
    const zipped = acceptsGzip(request.headers['accept-encoding']);
    response.setHeader('Content-Type', contentType);
    response.appendHeader('Vary', 'Accept-Encoding');
    if (zipped) response.setHeader('Content-Encoding', 'gzip');
    beginAnswer(context, status, headers);
    if (request.method !== 'HEAD') {
      const rest = prefixed([first.value as Buffer, second.value], pieces);
      const turns = new EventLoopTurns({ signal: context.signal });
      for await (const chunk of zipped ? gzipped(rest) : rest) {
        if (turns.due) await turns.next();
        await writeChunk(context, chunk, stallTimeoutMs);
      }
    }
    response.end();
  } finally {
    await pieces.return(undefined);
  }
}

/**
 * Writes one piece of an answer and waits while the client's buffers are full. Throws the signal's reason if the
 * request is over, and StatusError 504 if the client does not read for `stallTimeoutMs`.
 */
export async function writeChunk(
  context: RequestContext,
  chunk: string | Buffer,
  stallTimeoutMs = 60_000,
): Promise<void> {
  const { response, signal, heldSlots } = context;
  signal.throwIfAborted();
  if (response.write(chunk)) return;
  const read = drained(response, signal, stallTimeoutMs);
  await (heldSlots === undefined ? read : heldSlots.whileAnswerIsRead(read));
}

/** Does not use `AbortSignal.any`: in Node 20 it leaks on a signal that lives as long as a watch. */
function drained(response: ServerResponse, signal: AbortSignal, stallTimeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let forget = (): void => undefined;
    const settle = (): void => {
      clearTimeout(timer);
      response.off('drain', settle);
      forget();
      resolve();
    };
    const fail = (error: unknown): void => {
      reject(error);
      settle();
    };
    const timer = setTimeout(() => fail(newTimeout('the client stopped reading the answer')), stallTimeoutMs);
    response.on('drain', settle);
    forget = whenAborted(signal, () => fail(signal.reason));
  });
}

/** Small pieces are joined to gzipThresholdBytes: a write per object would cost more than the object. */
async function* joined(chunks: AsyncIterable<string | Buffer>): AsyncGenerator<Buffer, void, void> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const part = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    parts.push(part);
    size += part.length;
    if (size < gzipThresholdBytes) continue;
    yield parts.length === 1 ? part : Buffer.concat(parts, size);
    parts = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(parts, size);
}

async function* prefixed(first: Buffer[], rest: AsyncIterator<Buffer, void, void>): AsyncGenerator<Buffer> {
  yield* first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

async function* gzipped(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const zip = createGzip({ level: 1 });
  // A failure of the source destroys `zip`, and reading `zip` then throws that failure.
  const done = pipeline(chunks, zip).catch(() => undefined);
  for await (const chunk of zip) yield chunk as Buffer;
  await done;
}
