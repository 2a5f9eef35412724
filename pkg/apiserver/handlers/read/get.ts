import { isNotModified, send } from '#pkg/http/index';
import { objectFormat } from '../answer/answer-format.ts';
import { answerObject, entityTagOf, type ObjectView } from '../answer/answer-object.ts';
import { textParameter } from '../request/query-parameter.ts';
import { requestedKey, type ResourceRequest } from '../request/resource-request.ts';
import { requestReadBudget } from '../request/request-read-budget.ts';
import { checkRevision, currentRevision, parseResourceVersion } from '../request/resource-version.ts';

/**
 * GET of one object. `resourceVersion=N` asks for a state not older than N; the newest state satisfies it unless N is
 * in the future. Without a `view` the response is the object itself.
 */
export async function get(request: ResourceRequest, view?: ObjectView): Promise<void> {
  const { context, served } = request;
  const format = objectFormat(context);
  const at = parseResourceVersion(textParameter(context.query, 'resourceVersion')) ?? 0;
  const object = await served.reads.get(requestedKey(request), requestReadBudget(context));
  if (at > object.revision)
    await checkRevision(served.reads, { at, exact: false }, await currentRevision(served.reads, context.signal));
  if (
    format.projection !== 'table' &&
    isNotModified(context.request.headers['if-none-match'], String(object.revision))
  ) {
    await send(context, 304, format.type, '', { Vary: 'Accept', ETag: entityTagOf(object) });
  } else {
    await answerObject(request, object, { status: 200, format, view });
  }
}
