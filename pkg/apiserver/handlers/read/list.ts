import { isStatusError } from '#pkg/apimachinery/index';
import { sendStream } from '#pkg/http/index';
import type { ListRequest, RepresentationStream } from '../../rest/served-resource.ts';
import { listFormat } from '../answer/answer-format.ts';
import { encodeContinueToken, newExpiredToken } from './continue-token.ts';
import {
  listEnvelope,
  listPieces,
  pageFields,
  wholePageFields,
  type ListMetadata,
  type PageFields,
} from './list-envelope.ts';
import { parseListOptions, type ListExtent, type ListParameters } from './list-options.ts';
import { requestReadBudget } from '../request/request-read-budget.ts';
import type { ResourceRequest } from '../request/resource-request.ts';
import { checkRevision } from '../request/resource-version.ts';

/** A list whose objects are not read yet. */
interface ListAnswer {
  found: RepresentationStream;
  metadata: ListMetadata;
  /** Receives the number of objects; absent where `limit` was used. */
  fields?: (count: number) => PageFields;
}

/** GET of a collection: a page, a chunk, or everything, each as a stream. */
export async function list(request: ResourceRequest): Promise<void> {
  const { context, served, namespace, options } = request;
  const format = listFormat(context);
  const asked = parseListOptions({
    query: context.query,
    served,
    namespace,
    options,
    warn: (text) => context.warnings.push(text),
  });
  const { found, metadata, fields } = await answerOf(request, asked);
  try {
    await checkRevision(served.reads, asked.revision, found.revision);
    const pieces = listPieces(
      listEnvelope(served, format),
      { resourceVersion: String(found.revision), ...metadata },
      found.objects,
      fields,
    );
    await sendStream(context, 200, pieces, { contentType: format.type, headers: { Vary: 'Accept' } });
  } finally {
    await found.close();
  }
}

async function answerOf(request: ResourceRequest, { selector, sort, extent }: ListParameters): Promise<ListAnswer> {
  const {
    served: { reads },
    namespace,
    context,
  } = request;
  const query: ListRequest = {
    ...(namespace === undefined ? {} : { namespace }),
    selector,
    sort,
    readBudget: requestReadBudget(context),
    signal: context.signal,
  };
  if (extent.type === 'all')
    return { found: await reads.stream({ ...query, order: 'sort' }), metadata: {}, fields: wholePageFields };
  if (extent.type === 'chunk') return chunk(request, query, extent);
  const { page, size, exactTotal } = extent;
  const found = await reads.page({ ...query, page, size, exactTotal });
  return { found, metadata: {}, fields: () => pageFields(page, size, found) };
}

async function chunk(
  { served: { reads } }: ResourceRequest,
  query: ListRequest,
  { limit, after, fingerprint }: ListExtent & { type: 'chunk' },
): Promise<ListAnswer> {
  try {
    const found = await reads.chunk({ ...query, limit, ...(after === undefined ? {} : { after }) });
    const metadata: ListMetadata = {};
    if (found.next !== undefined) metadata.continue = encodeContinueToken(found.next, fingerprint);
    if (found.remaining !== undefined && found.next !== undefined) metadata.remainingItemCount = found.remaining;
    return { found, metadata };
  } catch (error) {
    if (after === undefined || !isStatusError(error, 'Expired')) throw error;
    throw newExpiredToken(after, fingerprint);
  }
}
