import { createHash } from 'node:crypto';
import { isNotModified, send, sendStream, type AnswerHeaders, type RequestContext } from '#pkg/http/index';

/** A text that many clients read and few changes touch. */
export interface ServedDocument {
  contentType: string;
  /** Of the contents: the same on every replica. */
  hash: string;
  /** In order; a large document is never one string. */
  pieces: readonly string[];
}

export function newDocument(text: string, contentType = 'application/json'): ServedDocument {
  return { contentType, hash: createHash('sha256').update(text).digest('hex'), pieces: [text] };
}

/** 200 with an ETag, or 304 where the client holds this very document. */
export async function answerDocument(
  context: RequestContext,
  document: ServedDocument,
  headers: AnswerHeaders = {},
): Promise<void> {
  const { contentType, hash, pieces } = document;
  const isHeld = isNotModified(context.request.headers['if-none-match'], hash);
  const all = { ETag: `"${hash}"`, Vary: 'Accept', ...headers };
  if (isHeld) await send(context, 304, contentType, '', all);
  else await sendStream(context, 200, inOrder(pieces), { contentType, headers: all });
}

async function* inOrder(pieces: readonly string[]): AsyncGenerator<string> {
  yield* pieces;
}
