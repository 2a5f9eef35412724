import type { ListAnswer, ListOperation, OperationId, Paging, SelectorRecord } from '../history/history.ts';
import { outcomeOf, recordOf, type RecordingClient, type Target } from './recording-client.ts';
import { observedObject, pathOf, type SampleModel, type WireObject } from './sample-models.ts';
import { selectorParameters } from './selector-text.ts';

export interface ListRequest {
  model: SampleModel;
  namespace: string;
  selector: SelectorRecord;
  sort?: ListOperation['sort'];
  paging?: Paging;
  /** The token of the previous chunk. */
  token?: string;
  atLeast?: number;
  target?: Target;
}

interface WireList {
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: WireObject[];
  total?: number;
  totalIsLowerBound?: boolean;
  hasNext?: boolean;
}

export interface ListResult {
  operation: ListOperation;
  /** The token of the next chunk. */
  token?: string;
}

/** Lists, and records the operation. */
export async function readList(client: RecordingClient, request: ListRequest): Promise<ListResult> {
  const { model, namespace, selector, sort = [], paging = { type: 'all' }, atLeast, target } = request;
  const query = selectorParameters(selector);
  for (const { field, descending } of sort) query.append('sort', `${field},${descending ? 'desc' : 'asc'}`);
  if (paging.type === 'page') {
    query.set('page', String(paging.page));
    query.set('size', String(paging.size));
  }
  if (paging.type === 'chunk') query.set('limit', String(paging.limit));
  if (request.token !== undefined) query.set('continue', request.token);
  if (atLeast !== undefined) query.set('resourceVersion', String(atLeast));
  const exchange = await client.exchange({ path: `${pathOf(model, namespace)}?${query.toString()}` }, target);
  let token: string | undefined;
  const outcome = outcomeOf(exchange, (body) => {
    token = (body as WireList).metadata.continue;
    return answerOf(model, body as WireList);
  });
  const operation: ListOperation = {
    ...recordOf(exchange),
    model: model.name,
    namespace,
    verb: 'list',
    selector,
    sort,
    paging,
    ...(atLeast === undefined ? {} : { atLeast }),
    outcome,
  };
  client.record(operation);
  return { operation, ...(token === undefined || token === '' ? {} : { token }) };
}

/** All chunks until one fails. */
export async function readChunks(client: RecordingClient, request: ListRequest, limit: number): Promise<void> {
  let continued: OperationId | undefined;
  let token: string | undefined;
  do {
    const paging: Paging = { type: 'chunk', limit, ...(continued === undefined ? {} : { continued }) };
    const result = await readList(client, { ...request, paging, ...(token === undefined ? {} : { token }) });
    ({ token } = result);
    continued = { client: result.operation.client, seq: result.operation.seq };
  } while (token !== undefined);
}

function answerOf(model: SampleModel, { metadata, items, total, totalIsLowerBound, hasNext }: WireList): ListAnswer {
  return {
    revision: Number(metadata.resourceVersion),
    // Marker and revision identify the rest.
    items: items.map((item) => ({ ...observedObject(model, item), labels: {}, fields: {} })),
    ...(total === undefined ? {} : { total }),
    ...(totalIsLowerBound === undefined ? {} : { totalIsLowerBound }),
    ...(hasNext === undefined ? {} : { hasNext }),
    ...(metadata.continue === undefined || metadata.continue === '' ? {} : { continues: true }),
    ...(metadata.remainingItemCount === undefined ? {} : { remaining: metadata.remainingItemCount }),
  };
}
