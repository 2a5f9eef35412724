import type { ApiObject, JsonObject, ScaleSubresource } from '#pkg/apimachinery/index';
import type { UpdateRequest } from '../../rest/served-resource.ts';
import type { WriteContext } from '../../rest/write-context.ts';
import { objectFormat, type AnswerFormat } from '../answer/answer-format.ts';
import { answerObject, type ObjectView } from '../answer/answer-object.ts';
import { checkKey, checkServedKind } from '../request/object-identity.ts';
import { decodeObject, readObjectBody } from '../request/request-body.ts';
import { requestedKey, type ResourceRequest } from '../request/resource-request.ts';
import { findEarlierOutcome, newWriteContext, readIfMatch } from './write-headers.ts';
import { parseWriteOptions, type WriteParameters } from './write-options.ts';

/** PUT of one object, or of its status. Never creates. */
export async function update(request: ResourceRequest, subresource: '' | 'status' = ''): Promise<void> {
  const format = objectFormat(request.context);
  const options = parseWriteOptions(request.context.query, 'UpdateOptions');
  const body = await readObjectBody(request);
  await runUpdate(request, {
    subresource,
    format,
    options,
    bytes: body.bytes,
    prepare: async (write) => {
      const object = await decodeObject(body, write);
      checkServedKind(object, request.served);
      checkKey(object, requestedKey(request));
      return () => object;
    },
  });
}

export interface UpdateRun {
  subresource: UpdateRequest['subresource'];
  scale?: ScaleSubresource;
  format: AnswerFormat;
  options: WriteParameters;
  /** The request's body, for its Idempotency-Key. */
  bytes: Buffer;
  /** Validates the body as far as possible without the stored object, and returns the transform. */
  prepare: (write: WriteContext) => Promise<(current: ApiObject & JsonObject) => JsonObject>;
  /** Default: the response is the object itself. */
  view?: ObjectView;
}

/** The common steps of PUT and PATCH: the remembered outcome, the preconditions, the write, the response. */
export async function runUpdate(
  request: ResourceRequest,
  { subresource, scale, format, options, bytes, prepare, view }: UpdateRun,
): Promise<void> {
  const { context, served } = request;
  const { idempotency, earlier } = await findEarlierOutcome(request, bytes, options.dryRun);
  if (earlier !== undefined) return answerObject(request, earlier.object, { status: 200, format, view });
  const write = newWriteContext(context, options, idempotency);
  const key = requestedKey(request);
  const transform = await prepare(write);
  const preconditions = readIfMatch(context);
  const stored = await served.storage.update(
    { key, subresource, ...(scale === undefined ? {} : { scale }), preconditions, transform },
    write,
  );
  await answerObject(request, stored, { status: 200, format, view, dryRun: options.dryRun });
}
