import { isStatusError, newExpired } from '#pkg/apimachinery/index';
import { sendStream } from '#pkg/http/index';
import type { ListRequest } from '../registry/served-resource.ts';
import { listFormat } from './answer-format.ts';
import { encodeContinueToken } from './continue-token.ts';
import { itemPieces, listEnvelope, listPieces, pageFields, wholePageFields, type ListEnvelope, type ListMetadata } from './list-envelope.ts';
import { parseListOptions, type ListExtent, type ListOptions } from './list-options.ts';
import type { ResourceRequest } from './resource-request.ts';
import { checkRevision, type RevisionDemand } from './resource-version.ts';

/** GET of a collection: a page, a chunk, or everything as a stream. */
export async function list(request: ResourceRequest): Promise<void> {
  const { context, served, namespace, options } = request;
  const format = listFormat(context);
  const asked = parseListOptions({ query: context.query, served, namespace, options, warn: (text) => context.warnings.push(text) });
  const envelope = listEnvelope(served, format);
  const body = await answerOf(request, asked, envelope);
  await sendStream(context, 200, body, { contentType: format.type, headers: { Vary: 'Accept' } });
}

async function answerOf(request: ResourceRequest, { selector, sort, extent, revision }: ListOptions, envelope: ListEnvelope): Promise<AsyncIterable<string>> {
  const { served, namespace, context } = request;
  const query: ListRequest = { ...(namespace === undefined ? {} : { namespace }), selector, sort, signal: context.signal };
  if (extent.type === 'all') return everything(request, query, revision, envelope);
  if (extent.type === 'chunk') return chunk(request, query, { extent, revision, envelope });
  const { page, size, exactTotal } = extent;
  const found = await served.storage.page({ ...query, page, size, exactTotal });
  checkRevision(revision, found.revision);
  return listPieces(envelope, { resourceVersion: String(found.revision) }, found.items, pageFields(page, size, found));
}

async function chunk(
  { served: { storage } }: ResourceRequest,
  query: ListRequest,
  { extent, revision, envelope }: { extent: ListExtent & { type: 'chunk' }; revision: RevisionDemand; envelope: ListEnvelope },
): Promise<AsyncIterable<string>> {
  const { limit, after, fingerprint } = extent;
  try {
    const found = await storage.chunk({ ...query, limit, ...(after === undefined ? {} : { after }) });
    checkRevision(revision, found.revision);
    const metadata: ListMetadata = { resourceVersion: String(found.revision) };
    if (found.next !== undefined) metadata.continue = encodeContinueToken(found.next, fingerprint);
    if (found.remaining !== undefined && found.next !== undefined) metadata.remainingItemCount = found.remaining;
    return listPieces(envelope, metadata, found.items);
  } catch (error) {
    if (after === undefined || !isStatusError(error, 'Expired')) throw error;
    throw newExpired(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, ' +
        'or use the continue token in this response to retrieve the remainder of the results, which may be inconsistent with the chunks before.',
      // Revision 0 is the newest there is when the token comes back.
      encodeContinueToken({ ...after, revision: 0 }, fingerprint),
    );
  }
}

async function* everything({ served: { storage } }: ResourceRequest, query: ListRequest, revision: RevisionDemand, envelope: ListEnvelope): AsyncGenerator<string> {
  const found = await storage.stream({ ...query, order: 'sort' });
  try {
    checkRevision(revision, found.revision);
    yield envelope.head({ resourceVersion: String(found.revision) });
    let total = 0;
    for await (const batch of found.objects) {
      yield* itemPieces(envelope, batch, total === 0);
      total += batch.length;
    }
    yield envelope.tail(wholePageFields(total), total === 0);
  } finally {
    await found.close();
  }
}
