import type { ApiObject, JsonObject } from '#pkg/apimachinery/index';
import type { UpdateRequest } from '../../rest/served-resource.ts';
import type { WriteContext } from '../../rest/write-context.ts';
import type { AnswerFormat } from '../answer/answer-format.ts';
import { answerObject } from '../answer/answer-object.ts';
import { readIdempotencyKey, replayedHeader } from './idempotency.ts';
import { readIfMatch } from './read-if-match.ts';
import { readRoom } from '../request/read-room.ts';
import { requestedKey, type ResourceRequest } from '../request/resource-request.ts';
import { writeContext } from './write-context.ts';
import type { WriteParameters } from './write-options.ts';

export interface UpdateRun {
  subresource: UpdateRequest['subresource'];
  format: AnswerFormat;
  options: WriteParameters;
  /** Of the request's body, for its Idempotency-Key. */
  bytes: Buffer;
  /** Checks the body as far as it can be without the stored object, and gives the transform. */
  prepare: (write: WriteContext) => Promise<(current: ApiObject & JsonObject) => JsonObject>;
  /** What the answer shows of the object; by default all of it. */
  show?: (text: string) => string;
}

/** What PUT and PATCH have in common: the remembered outcome, the preconditions, the write, the answer. */
export async function runUpdate(
  request: ResourceRequest,
  { subresource, format, options, bytes, prepare, show = (text) => text }: UpdateRun,
): Promise<void> {
  const { context, served } = request;
  const idempotencyKey = readIdempotencyKey(context, bytes, options.dryRun);
  const earlier =
    idempotencyKey === undefined
      ? undefined
      : await served.storage.findRememberedWrite(idempotencyKey, readRoom(context));
  if (earlier !== undefined) {
    const object = { ...earlier.object, text: show(earlier.object.text) };
    return answerObject(request, object, { status: 200, format, headers: replayedHeader });
  }
  const write = writeContext(context, options, idempotencyKey);
  const key = requestedKey(request);
  const transform = await prepare(write);
  const preconditions = await readIfMatch(context.request.headers['if-match'], served, key);
  const stored = await served.storage.update({ key, subresource, preconditions, transform }, write);
  await answerObject(request, { ...stored, text: show(stored.text) }, { status: 200, format, dryRun: options.dryRun });
}
