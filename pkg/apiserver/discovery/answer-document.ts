import { createHash } from 'node:crypto';
import { isNotModified, send, sendStream, type AnswerHeaders, type RequestContext } from '#pkg/http/index';

/** A text that many clients read and that rarely changes. */
export interface ServedDocument {
  contentType: string;
  /** Hash of the content: the same on every replica. */
  hash: string;
  /** In order; a large document is never joined to one string. */
  pieces: readonly (string | Buffer)[];
}

export function newDocument(text: string, contentType = 'application/json'): ServedDocument {
  return { contentType, hash: createHash('sha256').update(text).digest('hex'), pieces: [text] };
}

/** 200 with an ETag, or 304 if the client has this document. */
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

async function* inOrder(pieces: readonly (string | Buffer)[]): AsyncGenerator<string | Buffer> {
  yield* pieces;
}
