import { newBadRequest } from '#pkg/apimachinery/index';
import { sendStream } from '#pkg/http/index';
import { listFormat } from '../answer/answer-format.ts';
import { parseDeleteOptions } from './delete-options.ts';
import { listEnvelope, listPieces } from '../read/list-envelope.ts';
import { parseSelector } from '../read/list-options.ts';
import { newInvalidParameter } from '../request/query-parameter.ts';
import { requestReadBudget } from '../request/request-read-budget.ts';
import { readOptionsBody } from '../request/request-body.ts';
import type { ResourceRequest } from '../request/resource-request.ts';
import { newWriteContext, refuseIdempotencyKey } from './write-headers.ts';

const narrowing = ['page', 'size', 'limit', 'continue'] as const;

/**
 * DELETE of all objects that the selectors match. The response lists deleted and marked objects as they are processed,
 * at the revision of the selection. A response that breaks off is correct but incomplete: objects that it does not list
 * may still exist. Parameters that narrow a list but cannot narrow a deletion are rejected: if they were ignored, too
 * much would be deleted.
 */
export async function deleteCollection(request: ResourceRequest): Promise<void> {
  const { context, served, namespace } = request;
  const format = listFormat(context);
  refuseIdempotencyKey(context, 'a collection is deleted object by object, and has no one outcome to repeat');
  if (context.request.headers['if-match'] !== undefined)
    throw newBadRequest('the header If-Match is not supported on a collection');
  for (const name of narrowing) {
    const value = context.query.get(name) ?? '';
    if (value !== '' && value !== '0')
      throw newInvalidParameter(name, 'is not supported when a collection is deleted; use selectors');
  }
  const selector = parseSelector(context.query, served);
  const { write, preconditions, propagationPolicy } = await parseDeleteOptions(
    context.query,
    await readOptionsBody(request),
  );
  if (Object.keys(preconditions).length > 0)
    throw newBadRequest('DeleteOptions: preconditions are not supported on a collection');
  const list = {
    ...(namespace === undefined ? {} : { namespace }),
    selector,
    sort: [],
    readBudget: requestReadBudget(context),
    signal: context.signal,
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
  };
  const { revision, objects } = await served.storage.deleteCollection(list, newWriteContext(context, write));
  const pieces = listPieces(listEnvelope(served, format), { resourceVersion: String(revision) }, objects);
  await sendStream(context, 200, pieces, { contentType: format.type });
}
