import { checkKey, checkTypeMeta } from '../request/object-identity.ts';
import { objectFormat } from '../answer/answer-format.ts';
import { decodeObject, readObjectBody } from '../request/request-body.ts';
import { servedKind, requestedKey, type ResourceRequest } from '../request/resource-request.ts';
import { runUpdate } from './run-update.ts';
import { parseWriteOptions } from './write-options.ts';

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
      checkTypeMeta(object, servedKind(request.served));
      checkKey(object, requestedKey(request));
      return () => object;
    },
  });
}
