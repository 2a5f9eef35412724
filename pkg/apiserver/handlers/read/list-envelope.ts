import { encodeYaml, formatApiVersion, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import type { Representation, ServedResource } from '../../rest/served-resource.ts';
import { metadataText, type AnswerFormat } from '../answer/answer-format.ts';
import { servedKind } from '../request/resource-request.ts';

export interface ListMetadata {
  /** Absent where nothing was read or written. */
  resourceVersion?: string;
  continue?: string;
  remainingItemCount?: number;
}

/** The fields for `page` and `size`; absent where `limit` was used. */
export interface PageFields {
  page: number;
  size: number;
  total: number;
  totalPages: number;
  first: boolean;
  last: boolean;
  hasNext: boolean;
  hasPrevious: boolean;
  totalIsLowerBound?: true;
}

/**
 * A list's text in pieces, so that a response can be built at once or streamed: the head, each item after its
 * separator, the tail.
 */
export interface ListEnvelope {
  head(metadata: ListMetadata): string;
  item(text: string, isFirst: boolean): string;
  tail(fields: PageFields | undefined, isEmpty: boolean): string;
}

/** Items stay text: JSON is not parsed, and YAML is encoded one item at a time. */
export function listEnvelope(served: ServedResource, { type, projection }: AnswerFormat): ListEnvelope {
  const typeMeta =
    projection === 'metadata'
      ? { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadataList' }
      : { apiVersion: formatApiVersion(servedKind(served)), kind: served.model.names.listKind };
  const shown = projection === 'metadata' ? metadataText : (text: string): string => text;
  return type === 'application/json' ? jsonEnvelope(typeMeta, shown) : yamlEnvelope(typeMeta, shown);
}

function jsonEnvelope(typeMeta: JsonObject, shown: (text: string) => string): ListEnvelope {
  return {
    head: (metadata) => `${JSON.stringify({ ...typeMeta, metadata }).slice(0, -1)},"items":[`,
    item: (text, isFirst) => (isFirst ? shown(text) : `,${shown(text)}`),
    tail: (fields) => (fields === undefined ? ']}' : `],${JSON.stringify(fields).slice(1)}`),
  };
}

/** Encodes each item as a sequence of one: YAML allows its dashes at the indentation of the key. */
function yamlEnvelope(typeMeta: JsonObject, shown: (text: string) => string): ListEnvelope {
  return {
    head: (metadata) => `${encodeYaml({ ...typeMeta, metadata: { ...metadata } })}items:`,
    item: (text, isFirst) => `${isFirst ? '\n' : ''}${encodeYaml([JSON.parse(shown(text)) as JsonValue])}`,
    tail: (fields, isEmpty) => `${isEmpty ? ' []\n' : ''}${fields === undefined ? '' : encodeYaml({ ...fields })}`,
  };
}

/**
 * Yields a list's text as its objects arrive: the whole text may exceed the maximum string length. `fields` receives
 * the number of objects.
 */
export async function* listPieces(
  envelope: ListEnvelope,
  metadata: ListMetadata,
  objects: AsyncIterable<readonly Representation[]>,
  fields?: (count: number) => PageFields,
): AsyncGenerator<string> {
  yield envelope.head(metadata);
  let count = 0;
  for await (const batch of objects) {
    yield batch.map(({ text }, position) => envelope.item(text, count + position === 0)).join('');
    count += batch.length;
  }
  yield envelope.tail(fields?.(count), count === 0);
}

export function pageFields(
  page: number,
  size: number,
  { total, totalIsLowerBound, hasNext }: { total: number; totalIsLowerBound: boolean; hasNext: boolean },
): PageFields {
  const totalPages = size === 0 ? 0 : Math.ceil(total / size);
  return {
    page,
    size,
    total,
    totalPages,
    first: page === 1 || total === 0,
    last: !hasNext,
    hasNext,
    hasPrevious: page > 1 && total > 0,
    ...(totalIsLowerBound ? { totalIsLowerBound } : {}),
  };
}

/** The fields of a list that was not paged: one page that holds everything. */
export function wholePageFields(total: number): PageFields {
  return pageFields(1, total, { total, totalIsLowerBound: false, hasNext: false });
}
