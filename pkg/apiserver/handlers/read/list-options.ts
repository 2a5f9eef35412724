import { parseFieldSelector, parseLabelSelector, parseSort, type Selector, type Sort } from '#pkg/apimachinery/index';
import type { ChunkPosition } from '#pkg/storage/index';
import type { ServedResource } from '../../rest/served-resource.ts';
import { decodeContinueToken, listFingerprint } from './continue-token.ts';
import type { HandlerOptions } from '../options/handler-options.ts';
import { booleanParameter, countParameter, newInvalidParameter, textParameter } from '../request/query-parameter.ts';
import { parseRevisionDemand, type RevisionDemand } from '../request/resource-version.ts';

const defaultPageSize = 20;

/** The part of a list that the client asks for. */
export type ListExtent =
  | { type: 'all' }
  | { type: 'page'; page: number; size: number; exactTotal: boolean }
  | { type: 'chunk'; limit: number; after?: ChunkPosition; fingerprint: string };

export interface ListParameters {
  selector: Selector;
  sort: Sort;
  extent: ListExtent;
  revision: RevisionDemand;
}

export interface ListOptionsInput {
  query: URLSearchParams;
  served: Pick<ServedResource, 'resource' | 'indexes'>;
  /** Undefined for all namespaces. */
  namespace: string | undefined;
  options: HandlerOptions;
  warn: (text: string) => void;
}

/**
 * Parses the options of a list. 0 and empty mean absent. `page` without `size` means size 20, `size` without `page`
 * means page 1.
 * @throws StatusError 400 for an option that is malformed, contradictory or not indexed; 422, as in Kubernetes, for
 * resourceVersionMatch.
 */
export function parseListOptions({ query, served, namespace, options, warn }: ListOptionsInput): ListParameters {
  const selector = parseSelector(query, served);
  const sort = parseSort(query.getAll('sort'), served.indexes);
  const page = countParameter(query, 'page');
  const size = countParameter(query, 'size');
  const limit = countParameter(query, 'limit');
  const token = textParameter(query, 'continue');
  const exactTotal = booleanParameter(query, 'exactTotal') ?? false;
  const revision = parseRevisionDemand(query, token !== undefined);
  const chunked = limit !== undefined || token !== undefined;
  if (chunked && (page !== undefined || size !== undefined)) {
    throw newInvalidParameter(limit === undefined ? 'continue' : 'limit', 'cannot be combined with page or size');
  }
  if (chunked) {
    const fingerprint = listFingerprint({
      resource: served.resource,
      ...(namespace === undefined ? {} : { namespace }),
      labelSelector: query.getAll('labelSelector'),
      fieldSelector: query.getAll('fieldSelector'),
      sort: query.getAll('sort'),
    });
    const after = token === undefined ? {} : { after: decodeContinueToken(token, fingerprint, sort) };
    return {
      selector,
      sort,
      revision,
      extent: {
        type: 'chunk',
        limit: Math.min(limit ?? options.maxChunkSize, options.maxChunkSize),
        ...after,
        fingerprint,
      },
    };
  }
  if (page === undefined && size === undefined) return { selector, sort, revision, extent: { type: 'all' } };
  return {
    selector,
    sort,
    revision,
    extent: { type: 'page', ...pageOf(page, size, options.maxPageSize, warn), exactTotal },
  };
}

/** The selectors of a list, a watch or a delete of a collection. @throws StatusError 400 */
export function parseSelector(query: URLSearchParams, { indexes }: Pick<ServedResource, 'indexes'>): Selector {
  return {
    labels: parseLabelSelector(query.getAll('labelSelector')),
    fields: parseFieldSelector(query.getAll('fieldSelector'), indexes),
  };
}

function pageOf(
  page: number | undefined,
  size: number | undefined,
  maxPageSize: number,
  warn: (text: string) => void,
): { page: number; size: number } {
  const wanted = { page: page ?? 1, size: size ?? Math.min(defaultPageSize, maxPageSize) };
  if (wanted.size > maxPageSize) {
    warn(`size ${wanted.size} is above the maximum: pages have at most ${maxPageSize} items`);
    wanted.size = maxPageSize;
  }
  if (!Number.isSafeInteger(wanted.page * wanted.size)) throw newInvalidParameter('page', 'must be smaller');
  return wanted;
}
