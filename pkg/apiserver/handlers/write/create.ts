import type { Representation } from '../../rest/served-resource.ts';
import { terminatingRefusal } from '../../rest/terminating-definition.ts';
import { objectFormat, type AnswerFormat } from '../answer/answer-format.ts';
import { answerObject } from '../answer/answer-object.ts';
import { checkServedKind, setNamespace } from '../request/object-identity.ts';
import { decodeObject, readObjectBody } from '../request/request-body.ts';
import { objectLocation, type ResourceRequest } from '../request/resource-request.ts';
import { findEarlierOutcome, newWriteContext } from './write-headers.ts';
import { parseWriteOptions } from './write-options.ts';

/** POST to a collection. */
export async function create(request: ResourceRequest): Promise<void> {
  const { context, served, namespace = '' } = request;
  const refusal = terminatingRefusal(served);
  if (refusal !== undefined) throw refusal;
  const format = objectFormat(context);
  const options = parseWriteOptions(context.query, 'CreateOptions');
  const body = await readObjectBody(request);
  const { idempotency, earlier } = await findEarlierOutcome(request, body.bytes, options.dryRun);
  if (earlier !== undefined) return created(request, earlier.object, format);

  const write = newWriteContext(context, options, idempotency);
  const object = await decodeObject(body, write);
  checkServedKind(object, served);
  object['metadata'] ??= {};
  setNamespace(object, namespace);
  const stored = await served.storage.create(namespace, object, write);
  if (options.dryRun) await answerObject(request, stored, { status: 201, format, dryRun: true });
  else await created(request, stored, format);
}

function created(request: ResourceRequest, object: Representation, format: AnswerFormat): Promise<void> {
  const headers = { Location: objectLocation(request.served, object) };
  return answerObject(request, object, { status: 201, format, headers });
}
