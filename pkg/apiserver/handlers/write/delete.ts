import type { JsonObject } from '#pkg/apimachinery/index';
import { send } from '#pkg/http/index';
import type { DeleteOutcome } from '../../rest/served-resource.ts';
import { encodeValue, objectFormat, type AnswerFormat } from '../answer/answer-format.ts';
import { answerObject, replayHeaders } from '../answer/answer-object.ts';
import { parseDeleteOptions } from './delete-options.ts';
import { readOptionsBody } from '../request/request-body.ts';
import { requestedKey, type ResourceRequest } from '../request/resource-request.ts';
import { findEarlierOutcome, newWriteContext, readIfMatch } from './write-headers.ts';

/** DELETE of one object: deletes it, or marks it and waits for its finalizers. */
export async function remove(request: ResourceRequest): Promise<void> {
  const { context, served } = request;
  const format = objectFormat(context);
  const body = await readOptionsBody(request);
  const { write, preconditions, propagationPolicy } = await parseDeleteOptions(context.query, body);
  const { idempotency, earlier } = await findEarlierOutcome(request, body.bytes, write.dryRun);
  if (earlier !== undefined) {
    const { type, uid, object } = earlier;
    return answer(request, type === 'delete' ? { deleted: true, uid, object } : { deleted: false, object }, { format });
  }
  const outcome = await served.storage.delete(
    {
      key: requestedKey(request),
      preconditions: { ...preconditions, ...readIfMatch(context) },
      ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    },
    newWriteContext(context, write, idempotency),
  );
  await answer(request, outcome, { format, dryRun: write.dryRun });
}

async function answer(
  request: ResourceRequest,
  outcome: DeleteOutcome,
  options: { format: AnswerFormat; dryRun?: boolean },
): Promise<void> {
  if (!outcome.deleted) return answerObject(request, outcome.object, { status: 200, ...options });
  const { group, resource } = request.served.resource;
  const status: JsonObject = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: outcome.object.name, ...(group === '' ? {} : { group }), kind: resource, uid: outcome.uid },
  };
  await send(request.context, 200, options.format.type, encodeValue(options.format, status), {
    Vary: 'Accept',
    ...replayHeaders(outcome.object),
  });
}
